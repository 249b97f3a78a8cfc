// SPDX-License-Identifier: Apache-2.0
plugins {
    id("com.android.library")
    id("maven-publish")
}

group = "org.privatemail"
version = "0.9.0"

// A Prefab module has one folder of headers; the library's lie in two.
val headerFolder = layout.buildDirectory.dir("public_headers")
val publicHeaders by tasks.registering(Sync::class) {
    from("../../core/include")
    from("../../platform/privatemail_platform.h")
    into(headerFolder)
}

android {
    namespace = "org.privatemail"
    compileSdk = 35
    ndkVersion = "27.2.12479018"

    defaultConfig {
        minSdk = 24
        consumerProguardFiles("consumer-rules.pro")
        externalNativeBuild {
            cmake {
                arguments(
                    "-DANDROID_STL=none",
                    "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON",
                    "-DPRIVATEMAIL_TESTS=OFF",
                    "-DPRIVATEMAIL_TOOLS=OFF",
                    "-DPRIVATEMAIL_WERROR=OFF", // a newer NDK may warn of more
                )
                // Where BearSSL's sources are, if not in BEARSSL_DIR or ~/.cache/privatemail/bearssl.
                providers.gradleProperty("privatemail.bearssl").orNull?.let { arguments("-DPRIVATEMAIL_BEARSSL=$it") }
                targets("privatemail", "privatemail_shared")
            }
        }
    }

    externalNativeBuild {
        cmake {
            path = file("../../CMakeLists.txt")
            version = "3.22.1+"
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }

    buildFeatures {
        prefabPublishing = true
    }

    // Modules have the names of CMake's targets: privatemail is the static library.
    prefab {
        for (target in listOf("privatemail", "privatemail_shared")) {
            create(target) {
                headers = headerFolder.get().asFile.path
                libraryName = "libprivatemail"
            }
        }
    }

    publishing {
        singleVariant("release") {
            withSourcesJar()
            withJavadocJar()
        }
    }
}

dependencies {
    compileOnly("androidx.annotation:annotation:1.9.1") // read by compilers; nothing of it is needed on a phone
}

tasks.withType<JavaCompile>().configureEach {
    options.compilerArgs.add("-parameters")
}

tasks.matching { it.name.startsWith("prefab") }.configureEach {
    dependsOn(publicHeaders)
}

publishing {
    publications {
        register<MavenPublication>("release") {
            artifactId = "privatemail"
            afterEvaluate {
                from(components["release"])
            }
        }
    }
}

apply(from = "../publishing.gradle.kts")
