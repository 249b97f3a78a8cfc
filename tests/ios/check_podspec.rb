# SPDX-License-Identifier: Apache-2.0
# Reads PrivateMail.podspec as CocoaPods would, without CocoaPods: check_podspec.rb VERSION. It must name what a podspec
# needs, files that are there, and the C files that Package.swift compiles for Apple's systems.
class Recorder
  attr_reader :said

  def initialize
    @said = {}
  end

  def method_missing(name, *values)
    return @said[name.to_s.chomp('=')] = values.first if name.to_s.end_with?('=')

    @said[name.to_s] ||= Recorder.new
  end

  def respond_to_missing?(*)
    true
  end

  def to_s
    'a value'
  end
end

module Pod
  class Spec
    class << self
      attr_reader :last

      def new
        @last = Recorder.new
        yield @last
        @last
      end
    end
  end
end

load './PrivateMail.podspec'
said = Pod::Spec.last.said
needed = %w[name version summary homepage license authors source source_files swift_versions]
problems = needed.reject { |name| said[name] }
problems << "version #{said['version']} instead of #{ARGV[0]}" unless said['version'] == ARGV[0]
patterns = [said['source_files'], said['public_header_files'], said['preserve_paths'], said['license'][:file],
            said['resource_bundles'].values].flatten
problems += patterns.select { |pattern| Dir.glob(pattern).empty? }.map { |pattern| "nothing is #{pattern}" }

sources = Dir.glob(said['source_files'].grep(/\{h,c\}/)).select { |name| name.end_with?('.c') }
package = File.read('Package.swift')
expected = Dir.glob('core/**/*.c') + Dir.glob('{platform,transport}/*.c').select do |name|
  package.include?("\"#{File.basename(name)}\"")
end
problems += (sources - expected).map { |name| "Package.swift does not compile #{name}" }
problems += (expected - sources).map { |name| "the podspec does not compile #{name}" }
defined = said['pod_target_xcconfig']['GCC_PREPROCESSOR_DEFINITIONS'].scan(/PML_\w+/).sort
wanted = package.scan(/define\("(PML_\w+)"/).flatten.sort
problems << "it defines #{defined}, Package.swift #{wanted}" unless defined == wanted
puts problems, "#{sources.size} C files, #{defined.size} definitions"
exit problems.empty?
