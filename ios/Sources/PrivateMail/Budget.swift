// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import Foundation

/// Where a budget's bytes live between launches.
///
/// Keep them out of backups: a copy put back spends again what was spent since. The calls of all stores come one at a
/// time. A store must not charge, refund or open a budget, nor use the client it is called for (all get
/// ``Status/state``), nor wait for a thread that does.
public protocol BudgetStore: Sendable {
    /// The bytes saved last; nil only when nothing was ever saved. A store that cannot tell must throw: nil makes a
    /// fresh budget.
    ///
    /// Called before every ``save(_:)``: when the answer is not what the budget last saw, somebody else spent
    /// meanwhile, and nothing is saved.
    func load() throws -> Data?
    /// Returns when the bytes are safe against a crash and a power failure, and throws otherwise.
    func save(_ bytes: Data) throws
}

/// What one person may ever spend, over all packs and servers.
///
/// The caps are fixed at creation: response releases add their ε up to one, Gaussian releases their μ² up to what
/// (ε, δ) of the other allows. Bundles of a crowd have caps of their own. One budget per person; any number of clients,
/// on any threads, may share it.
///
/// The stored bytes rule. When another budget on the same store, in this process or another, spent since this one was
/// opened, a charge is refused with ``Status/persist`` and ``Conflict``, and costs nothing: make a new budget then.
public final class Budget: @unchecked Sendable {  // the bytes are only touched inside the gate
    public struct Limits: Sendable, Hashable {
        /// Σε of response releases, 0 to 4095.
        public var response: Double
        /// ε of all Gaussian releases together: 0 for none, or up to 256.
        public var gaussian: Double
        /// δ of all Gaussian releases together; 0 when there are none.
        public var delta: Double
        /// Σε₀ of all photos whose cell is drawn for a crowd, 0 to 4095. It holds against everybody.
        public var floor: Double
        /// ε of all own messages in a crowd together: 0 pays only for policies without a promise, or up to 16. It holds
        /// if the relay mixes and does not join the server, and as many clients are honest as the policy says.
        public var crowd: Double
        /// δ of all own messages in a crowd together, 2^-49 to below 1; 0 when ``crowd`` is 0.
        public var crowdDelta: Double

        public init(
            response: Double, gaussian: Double = 0, delta: Double = 0, floor: Double = 0, crowd: Double = 0,
            crowdDelta: Double = 0
        ) {
            self.response = response
            self.gaussian = gaussian
            self.delta = delta
            self.floor = floor
            self.crowd = crowd
            self.crowdDelta = crowdDelta
        }
    }

    /// What was allowed and what is gone of it.
    public struct Account: Sendable, Hashable {
        /// Σε of response releases.
        public let epsilonCap: Double, epsilonSpent: Double
        /// Σμ² of Gaussian releases.
        public let mu2Cap: Double, mu2Spent: Double
        /// δ of the Gaussian cap.
        public let delta: Double
        /// Σε₀ of cells drawn for a crowd.
        public let floorCap: Double, floorSpent: Double
        /// Σμ² of own messages in a crowd.
        public let crowdMu2Cap: Double, crowdMu2Spent: Double
        /// Σδ₀ of own messages in a crowd.
        public let crowdDelta0Cap: Double, crowdDelta0Spent: Double
        /// δ of the crowd's cap, Σδ₀ included.
        public let crowdDelta: Double
    }

    /// The store no longer holds what this budget, or its store, last saw.
    public struct Conflict: LocalizedError {
        public var errorDescription: String? { "somebody else spent from it meanwhile" }
    }

    /// Comparing and saving are one step, for all stores of the process: two budgets may share one, and a store has no
    /// identity that a lock of its own could go by. Entered before the gate of a client, never inside it.
    static let stores = Gate()

    private let gate = Gate()
    private let store: any BudgetStore
    private let bytes: UnsafeMutablePointer<pml_budget>
    /// What the store holds as far as this budget knows: the bytes, or at first their form in an older version.
    private var stored: Data?

    /// Restores the budget from its store, or creates and saves it when the store is empty.
    ///
    /// - Parameters:
    ///   - owner: 16 bytes that name the person, for example a hash of an account. Another's budget is refused.
    ///   - limits: The caps of a new budget. A stored one keeps those it was created with.
    ///   - store: Where it lives; see ``FileBudgetStore``.
    public init(owner: [UInt8], limits: Limits, store: any BudgetStore) throws(PrivateMailError) {
        self.store = store
        bytes = .allocate(capacity: 1)
        bytes.initialize(to: pml_budget())
        guard owner.count == 16 else { throw PrivateMailError(.argument) }
        try Budget.stores.run { () throws(PrivateMailError) in try restoreOrCreate(owner, limits) }
    }

    private func restoreOrCreate(_ owner: [UInt8], _ limits: Limits) throws(PrivateMailError) {
        stored = try asking { try store.load() }
        if let stored {
            try check(stored.withUnsafeBytes { pml_budget_restore(bytes, owner, $0.baseAddress, $0.count) })
        } else {
            var caps = pml_budget_caps()
            caps.epsilon_response = limits.response
            caps.epsilon_gaussian = limits.gaussian
            caps.delta = limits.delta
            caps.epsilon_floor = limits.floor
            caps.epsilon_crowd = limits.crowd
            caps.delta_crowd = limits.crowdDelta
            try check(pml_budget_create(bytes, owner, &caps))
            let new = Data(bytes: bytes, count: Int(PML_BUDGET_SIZE))
            try asking { try store.save(new) }
            stored = new
        }
    }

    private func asking<Reply>(_ call: () throws -> Reply) throws(PrivateMailError) -> Reply {
        do {
            return try call()
        } catch {
            throw PrivateMailError(.persist, underlying: error)
        }
    }

    deinit {
        bytes.deallocate()
    }

    /// The account as this budget last saw it.
    public func account() throws(PrivateMailError) -> Account {
        var left = pml_budget_left()
        try gate.run { () throws(PrivateMailError) in try check(pml_budget_remaining(bytes, &left)) }
        return Account(
            epsilonCap: left.epsilon_cap, epsilonSpent: left.epsilon_spent, mu2Cap: left.mu2_cap,
            mu2Spent: left.mu2_spent, delta: left.delta, floorCap: left.floor_cap, floorSpent: left.floor_spent,
            crowdMu2Cap: left.crowd_mu2_cap, crowdMu2Spent: left.crowd_mu2_spent,
            crowdDelta0Cap: left.crowd_delta0_cap, crowdDelta0Spent: left.crowd_delta0_spent,
            crowdDelta: left.crowd_delta)
    }

    /// Lends the bytes to a client that charges or refunds.
    func lend(
        _ body: (UnsafeMutablePointer<pml_budget>) throws(PrivateMailError) -> Void
    ) throws(PrivateMailError) {
        try gate.run { () throws(PrivateMailError) in try body(bytes) }
    }

    /// Called by the library while the bytes are lent, and still the old ones.
    func replaceStored(with changed: Data) throws {
        guard try store.load() == stored else { throw Conflict() }
        try store.save(changed)
        stored = changed
    }
}
