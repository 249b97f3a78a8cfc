// SPDX-License-Identifier: Apache-2.0
import CPrivateMail

/// How to ask in a crowd: the app's choice, never a pack's.
///
/// Many people ask in one epoch through a relay that mixes their messages, and the server sees only the mixture. Among
/// the messages are fakes, in clusters of equal ones. The promise that follows from it holds if the relay mixes and does
/// not join the server, and at least ``clients`` clients are honest; the floor, the client's ε, holds in any case.
///
/// ```swift
/// let goal = Crowd.Goal(use: .init(cells: cells, floor: 8), epsilon: 0.1, delta: 1e-9, noise: .clients(100_000))
/// let crowd = try Crowd.plan(goal).crowd.promising(cells: cells, delta0: 1e-9)
/// ```
///
/// `cells` are the symbols that a message chooses from: ``Pack/slots`` × ``Pack/cells``. All results of the accounting
/// are rounded outward: the true ones are never above them. Ranges are checked when a ``Client`` is made, and by the
/// accounting.
public struct Crowd: Sendable, Hashable {
    /// Honest clients per epoch that the promise counts on, 0 to 2^32.
    public var clients: UInt64
    /// Mean clusters of fakes per client, 0 to 4; 0 when ``clients`` is 0.
    public var clusters: Double
    /// The largest size of a cluster, 1 to 64.
    public var copies: Int
    /// Own messages per bundle, 1 to 8 and at most the pack's cells: the drawn cell and its public list.
    public var own: Int
    /// Mean clusters that the relay itself adds per epoch, 0 to 2^24.
    public var relayClusters: Double
    /// Whether idle clients send own messages with uniform cells too.
    public var cover: Bool
    /// δ₀ that one own message is booked with, 2^-60 to 2^-10; 0 like ``mu``: only the floor is promised.
    public var delta0: Double
    /// μ that one own message is booked with: see ``mu(cells:delta0:)``.
    public var mu: Double

    public init(
        clients: UInt64 = 0, clusters: Double = 0, copies: Int, own: Int = 1, relayClusters: Double = 0,
        cover: Bool = false, delta0: Double = 0, mu: Double = 0
    ) {
        self.clients = clients
        self.clusters = clusters
        self.copies = copies
        self.own = own
        self.relayClusters = relayClusters
        self.cover = cover
        self.delta0 = delta0
        self.mu = mu
    }

    var policy: pml_crowd {
        var policy = pml_crowd()
        policy.clients = clients
        policy.clusters = clusters
        policy.copies = word(copies)
        policy.own = word(own)
        policy.relay_clusters = relayClusters
        policy.cover = cover
        policy.delta0 = delta0
        policy.mu = mu
        return policy
    }
}

/// A number that C can hold; one that is none is refused there, with the right status.
private func word(_ number: Int) -> UInt32 { UInt32(exactly: number) ?? .max }

// ---- what a policy gives ----

extension Crowd {
    /// What a policy is used for.
    public struct Use: Sendable, Hashable {
        /// Slots × cells of the pack, 2 to 2^20.
        public var cells: Int
        /// ε₀ of a drawn cell, 2^-16 to 16; 0 for a kept cell that is sent again.
        public var floor: Double
        /// Queries of one person, each in an epoch of its own, 1 to 2^20.
        public var queries: Int

        public init(cells: Int, floor: Double, queries: Int = 1) {
            self.cells = cells
            self.floor = floor
            self.queries = queries
        }

        var value: pml_crowd_use {
            var use = pml_crowd_use()
            use.cells = word(cells)
            use.queries = word(queries)
            use.floor = floor
            return use
        }
    }

    /// δ of the use at ε, 0 to 256. Throws ``Status/crowd`` for a policy or use out of range, ``Status/epsilon``.
    public func delta(_ use: Use, epsilon: Double) throws(PrivateMailError) -> Double {
        try account(use) { pml_crowd_delta($0, $1, epsilon, $2.baseAddress, $2.count, $3) }
    }

    /// The least ε of the use for δ, 2^-60 to below 1: of the crowd, or of the floor when that is less.
    ///
    /// Throws ``Status/crowd`` also when there are so few fakes that the crowd promises nothing.
    public func epsilon(_ use: Use, delta: Double) throws(PrivateMailError) -> Double {
        try account(use) { pml_crowd_epsilon($0, $1, delta, $2.baseAddress, $2.count, $3) }
    }

    /// The μ that one own message is booked with next to δ₀, 2^-60 to 2^-10.
    ///
    /// Throws ``Status/crowd`` when the crowd is too small for it. A policy that was planned with δ has fakes for that:
    /// one of δ = 1e-6 is often too small for δ₀ = 1e-9. Plan with δ = δ₀, or choose δ₀ from δ/1000 to δ/10.
    public func mu(cells: Int, delta0: Double) throws(PrivateMailError) -> Double {
        try account(Use(cells: cells, floor: 0)) {
            pml_crowd_mu($0, $1.pointee.cells, delta0, $2.baseAddress, $2.count, $3)
        }
    }

    /// The same policy with its promise: every own message is booked with δ₀ and the μ that goes with it.
    ///
    /// Half of the δ that a budget's limit for the crowd has is for the sum of the δ₀.
    public func promising(cells: Int, delta0: Double) throws(PrivateMailError) -> Crowd {
        var crowd = self
        crowd.mu = try mu(cells: cells, delta0: delta0)
        crowd.delta0 = delta0
        return crowd
    }

    private typealias Accounting = (
        UnsafePointer<pml_crowd>, UnsafePointer<pml_crowd_use>, UnsafeMutableBufferPointer<Double>,
        UnsafeMutablePointer<Double>
    ) -> pml_status

    private func account(_ use: Use, _ call: Accounting) throws(PrivateMailError) -> Double {
        var policy = policy, use = use.value, result = 0.0
        // Zero when something is out of range; the call then says which error that is.
        let scratch = Scratch(count: max(1, pml_crowd_scratch(&policy, &use)))
        try check(call(&policy, &use, scratch.doubles, &result))
        return result
    }
}

// ---- which policy gives what is asked for ----

extension Crowd {
    /// Who makes the fakes.
    public enum Noise: Sendable, Hashable {
        /// The clients; so many are promised per epoch, 1 to 2^32, and the plan counts on a share of them.
        case clients(UInt64, honest: Double = 0.5)
        /// The relay; no client is counted on.
        case relay
    }

    /// What is asked of a crowd.
    public struct Goal: Sendable, Hashable {
        public var use: Use
        /// 2^-20 to 16.
        public var epsilon: Double
        /// 2^-50 to below 1.
        public var delta: Double
        public var noise: Noise
        /// The largest cluster, 1 to 64. Large clusters need fewer fakes, and more when clients stay away.
        public var copiesMax: Int
        /// Own messages per bundle, 1 to 8.
        public var own: Int

        public init(use: Use, epsilon: Double, delta: Double, noise: Noise, copiesMax: Int = 8, own: Int = 1) {
            self.use = use
            self.epsilon = epsilon
            self.delta = delta
            self.noise = noise
            self.copiesMax = copiesMax
            self.own = own
        }
    }

    /// The policy with fewest fakes that reaches a goal.
    public struct Plan: Sendable, Hashable {
        /// The policy, not yet ``Crowd/promising(cells:delta0:)``.
        public let crowd: Crowd
        /// Mean fakes per client, or, when the relay makes them, per epoch.
        public let fakes: Double
        /// δ of the policy at the ε asked for.
        public let delta: Double
        /// Whether fakes are needed: false when the floor alone keeps the promise.
        public let needed: Bool
    }

    /// Finds the policy. Nothing of it touches a query. Takes milliseconds, and 2 MiB of memory while it runs.
    ///
    /// Throws ``Status/crowd`` when the goal is out of range or no policy reaches it, ``Status/epsilon``,
    /// ``Status/delta``.
    public static func plan(_ goal: Goal) throws(PrivateMailError) -> Plan {
        var asked = pml_crowd_goal()
        asked.use = goal.use.value
        asked.epsilon = goal.epsilon
        asked.delta = goal.delta
        asked.copies_max = word(goal.copiesMax)
        asked.own = word(goal.own)
        asked.honest = 1
        switch goal.noise {
        case .clients(let clients, let honest):
            asked.clients = clients
            asked.honest = honest
        case .relay:
            asked.relay = true
        }
        let scratch = Scratch(count: Scratch.ofPlan)
        var plan = pml_crowd_planned()
        try check(pml_crowd_plan(&asked, scratch.doubles.baseAddress, scratch.doubles.count, &plan))
        let crowd = Crowd(
            clients: plan.crowd.clients, clusters: plan.crowd.clusters, copies: Int(plan.crowd.copies),
            own: Int(plan.crowd.own), relayClusters: plan.crowd.relay_clusters)
        return Plan(crowd: crowd, fakes: plan.fakes, delta: plan.delta, needed: plan.needed)
    }
}

/// What the accounting computes in; nothing private is ever in it.
private final class Scratch {
    /// PML_CROWD_SCRATCH_MAX, a macro that Swift does not import.
    static let ofPlan = 2 * Int(PML_CROWD_COUNTS_MAX) + 3 * Int(PML_CROWD_GRID)

    let doubles: UnsafeMutableBufferPointer<Double>

    init(count: Int) {
        doubles = .allocate(capacity: count)
    }

    deinit {
        doubles.deallocate()
    }
}
