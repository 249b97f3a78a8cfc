// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import CPrivateMailPlatform
import Foundation

/// What device and server both know: the public side of a collection.
///
/// The bytes are validated completely when the pack is opened and stay where they are. A pack is immutable: any number
/// of clients, on any threads, may share one.
public final class Pack: @unchecked Sendable {  // immutable from the end of init on
    /// The app demands a model that is not the pack's: features of one find nothing in a collection of the other.
    public struct ModelMismatch: LocalizedError, Hashable, CustomStringConvertible {
        /// What the app demands.
        public let demanded: String
        /// What the pack names; nil when it names none.
        public let found: String?

        public var description: String {
            "the app demands the model '\(demanded)', the pack names \(found.map { "'\($0)'" } ?? "none")"
        }

        public var errorDescription: String? { description }
    }

    /// The app names a modality that the pack does not have.
    public struct UnknownModality: LocalizedError, Hashable, CustomStringConvertible {
        /// What the app names.
        public let named: String
        /// What the pack has.
        public let known: [Modality]

        public var description: String {
            let names = known.map { $0.name.isEmpty ? "one without a name" : "'\($0.name)'" }
            return "the app names the modality '\(named)', the pack has \(names.joined(separator: ", "))"
        }

        public var errorDescription: String? { description }
    }

    private let free: () -> Void
    let view: UnsafePointer<pml_pack>
    let info: pml_pack_info

    /// Maps a pack from a file, which must stay readable and unchanged while the pack lives.
    ///
    /// A file that cannot be mapped is reported as ``Status/argument`` with the system's error as
    /// ``PrivateMailError/underlying``.
    ///
    /// - Parameters:
    ///   - url: The file, for example a resource of the app.
    ///   - pinnedID: The 16 bytes of ``id`` that the app expects, or nil for any. A pack made for one user marks that
    ///     user: pin ids.
    ///   - model: The name of the model that makes the app's features, or nil to accept any. Features of another model
    ///     find nothing; with a name given, a pack that names another model, or none, is refused with
    ///     ``Status/packModel`` and ``ModelMismatch``.
    public convenience init(
        contentsOf url: URL, pinnedID: [UInt8]? = nil, model: String? = nil
    ) throws(PrivateMailError) {
        let mapped: UnsafeMutableRawBufferPointer
        do {
            mapped = try mapFile(url.path)
        } catch {
            throw PrivateMailError(.argument, underlying: error)
        }
        try self.init(UnsafeRawBufferPointer(mapped), pinnedID: pinnedID, model: model) {
            munmap(mapped.baseAddress!, mapped.count)
        }
    }

    /// Opens a pack in memory. The data is kept alive; Apple's systems do not copy it.
    public convenience init(_ data: Data, pinnedID: [UInt8]? = nil, model: String? = nil) throws(PrivateMailError) {
        let object = data as NSData  // its bytes stay at one address, those of a Data need not
        let bytes = UnsafeRawBufferPointer(start: object.bytes, count: object.length)
        try self.init(bytes, pinnedID: pinnedID, model: model) {
            withExtendedLifetime(object) {}
        }
    }

    /// Opens a pack in memory that is not copied. `deallocator` is called when nothing uses the bytes any more, and
    /// also when they are refused.
    public convenience init(
        bytesNoCopy bytes: UnsafeRawBufferPointer, pinnedID: [UInt8]? = nil, model: String? = nil,
        deallocator: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) throws(PrivateMailError) {
        try self.init(bytes, pinnedID: pinnedID, model: model) { deallocator(bytes) }
    }

    private init(
        _ bytes: UnsafeRawBufferPointer, pinnedID: [UInt8]?, model: String?, free: @escaping () -> Void
    ) throws(PrivateMailError) {
        let view = UnsafeMutablePointer<pml_pack>.allocate(capacity: 1)
        view.initialize(to: pml_pack())
        self.free = free
        self.view = UnsafePointer(view)
        func open(_ model: String?) -> pml_status {
            guard pinnedID == nil || pinnedID?.count == Int(PML_ID_SIZE) else { return PML_ERROR_ARGUMENT }
            return pml_pack_open_with(view, bytes.baseAddress, bytes.count, pinnedID, model, pml_platform_kernels())
        }
        // A zero byte would end the name early; no pack has such a name, and none has the empty one.
        let status = open(model.map { $0.utf8.contains(0) ? "" : $0 })
        var mismatch: ModelMismatch?
        if let model, status == PML_ERROR_PACK_MODEL, open(nil) == PML_OK {
            mismatch = ModelMismatch(demanded: model, found: Pack.model(of: view))
        }
        var info = pml_pack_info()
        let described = status == PML_OK ? pml_pack_describe(view, &info) : status
        self.info = info
        try check(described, underlying: mismatch)
    }

    deinit {
        view.deallocate()
        free()
    }

    /// 16 bytes that name this pack: the start of its hash.
    public var id: [UInt8] { withUnsafeBytes(of: info.id) { Array($0) } }

    /// Names the model that makes the features, and its preprocessing; nil when the pack names none.
    public var model: String? { Pack.model(of: view) }

    private static func model(of view: UnsafePointer<pml_pack>) -> String? {
        let name = String(cString: pml_pack_model(view))
        return name.isEmpty ? nil : name
    }

    /// What may be asked for, in the order of the pack. A pack without fronts has one modality, without a name.
    public var modalities: [Modality] {
        var modality = pml_modality(), all: [Modality] = []
        while pml_pack_modality(view, all.count, &modality) == PML_OK {
            all.append(Modality(modality))
        }
        return all
    }

    /// The number of a modality; nil is the first.
    func find(modality name: String?) throws(PrivateMailError) -> UInt32 {
        guard let name else { return 0 }
        let known = modalities
        guard let index = known.firstIndex(where: { $0.name == name }) else {
            throw PrivateMailError(.modality, underlying: UnknownModality(named: name, known: known))
        }
        return UInt32(index)
    }

    /// Features that the collection is made of; those of a query too, unless the pack has ``modalities``.
    public var features: Int { Int(info.features) }

    /// Coordinates of an embedding row; 0 when the pack has no codes.
    public var dimensions: Int { Int(info.dimensions) }

    /// Slots of a release: classes, groups of classes, or one.
    public var slots: Int { Int(info.slots) }

    /// Cells per slot; 0 when the pack does not support response.
    public var cells: Int { Int(info.cells) }

    /// The embedding rows of any release of this pack, ``slots`` × ``dimensions`` numbers: what the server sees.
    /// A message of a crowd has one row.
    ///
    /// Throws ``Status/section`` when the pack has no codes.
    public func rows(of release: Data) throws(PrivateMailError) -> [Float] {
        var rows = [Float](repeating: 0, count: dimensions)
        func decode() -> pml_status {
            release.withUnsafeBytes { bytes in
                rows.withUnsafeMutableBufferPointer { rows in
                    pml_release_rows(view, bytes.baseAddress, bytes.count, rows.baseAddress, rows.count)
                }
            }
        }
        var status = decode()
        if status == PML_ERROR_BUFFER {  // it has as many rows as the pack has slots
            rows = [Float](repeating: 0, count: slots * dimensions)
            status = decode()
        }
        try check(status)
        return rows
    }
}

/// A file's bytes in memory, read when they are touched.
private func mapFile(_ path: String) throws -> UnsafeMutableRawBufferPointer {
    let file = try attempt { open(path, O_RDONLY | O_CLOEXEC) }
    defer { close(file) }
    let size = Int(try attempt { lseek(file, 0, SEEK_END) })
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED else {
        throw systemError()
    }
    return UnsafeMutableRawBufferPointer(start: start, count: size)
}
