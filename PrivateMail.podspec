# SPDX-License-Identifier: Apache-2.0
# The Swift package as a pod: the same sources as Package.swift. Set homepage and source to where the project is.
Pod::Spec.new do |spec|
  spec.name = 'PrivateMail'
  spec.version = '0.9.0'
  spec.summary = 'Search a remote collection without revealing what you look for'
  spec.description = <<-TEXT
    A device turns the features of a picture into one small differentially private message. A server returns
    candidates, and the device keeps those nearest to its true query.
  TEXT
  spec.homepage = 'https://privatemail.example'
  spec.license = { type: 'Apache-2.0', file: 'LICENSE' }
  spec.authors = 'The PrivateMail authors'
  spec.source = { git: 'https://privatemail.example/privatemail.git', tag: spec.version.to_s }

  spec.swift_versions = ['6.0']
  spec.ios.deployment_target = '15.0'
  spec.osx.deployment_target = '13.0'
  spec.tvos.deployment_target = '15.0'
  spec.watchos.deployment_target = '8.0'
  spec.visionos.deployment_target = '1.0'

  spec.source_files = 'ios/Sources/PrivateMail/*.swift', 'core/**/*.{h,c}', 'platform/*.{h,c}', 'transport/*.{h,c}',
                      'transport/include/*.h'
  spec.public_header_files = 'core/include/*.h', 'platform/privatemail_platform.h', 'transport/include/*.h'
  spec.preserve_paths = 'ios/Pod/pod.modulemap'
  spec.resource_bundles = { 'PrivateMail' => 'ios/Sources/PrivateMail/PrivacyInfo.xcprivacy' }

  modules = 'ios/Pod/pod.modulemap'
  spec.pod_target_xcconfig = {
    'GCC_C_LANGUAGE_STANDARD' => 'c11',
    'GCC_PREPROCESSOR_DEFINITIONS' => '$(inherited) PML_WITH_RESPONSE=1 PML_WITH_GAUSSIAN=1 PML_WITH_CROWD=1 ' \
                                      'PML_WITH_FRONT=1 PML_WITH_HEAD=1',
    'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)" "$(PODS_TARGET_SRCROOT)/core" ' \
                             '"$(PODS_TARGET_SRCROOT)/core/include" "$(PODS_TARGET_SRCROOT)/platform" ' \
                             '"$(PODS_TARGET_SRCROOT)/transport/include"',
    'OTHER_SWIFT_FLAGS' => '$(inherited) -package-name PrivateMail ' \
                           "-Xcc -fmodule-map-file=\"$(PODS_TARGET_SRCROOT)/#{modules}\"",
  }
  spec.user_target_xcconfig = {
    'OTHER_SWIFT_FLAGS' => "$(inherited) -Xcc -fmodule-map-file=\"$(PODS_ROOT)/PrivateMail/#{modules}\"",
  }
end
