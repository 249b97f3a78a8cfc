// SPDX-License-Identifier: Apache-2.0
// What Maven Central wants to know of a module beside its coordinates; android/gradle.properties has the addresses.
extensions.configure<PublishingExtension> {
    publications.withType<MavenPublication>().configureEach {
        pom {
            name.set("PrivateMail")
            description.set("Search a remote collection without revealing what you look for")
            url.set(providers.gradleProperty("privatemail.url"))
            licenses {
                license {
                    name.set("Apache-2.0")
                    url.set("https://www.apache.org/licenses/LICENSE-2.0")
                }
            }
            developers {
                developer {
                    name.set(providers.gradleProperty("privatemail.developer"))
                }
            }
            scm {
                connection.set(providers.gradleProperty("privatemail.scm"))
                url.set(providers.gradleProperty("privatemail.url"))
            }
        }
    }
}
