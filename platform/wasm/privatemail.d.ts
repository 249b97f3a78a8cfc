// SPDX-License-Identifier: Apache-2.0
// Types of privatemail.js. They name nothing of a browser or of node, so that they serve in both; TypeScript needs the
// library ES2020 or later. tests/wasm compares the names of their members with the classes.

/** Bytes that are handed over; they are copied. */
export type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView;

/** Numbers that a model made of a picture or of words. The caller's to wipe. */
export type Features = ArrayLike<number>;

/** A stream of the answer's pieces, such as the `body` of a fetch's response. */
export interface ByteStream {
    getReader(): {
        read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
        cancel(): Promise<unknown>;
        releaseLock(): void;
    };
}

/** The whole answer, or its pieces. */
export type AnswerSource = Bytes | ByteStream | Iterable<Bytes> | AsyncIterable<Bytes>;

/** What every failure of the library throws: `status` and `name` as in privatemail.h (-4, "PML_ERROR_STATE"). */
export class PrivateMailError extends Error {
    constructor(status: number, message: string, cause?: unknown);
    readonly status: number;
}

/** What went wrong between here and the relay; the README says which codes there are. */
export class RelayError extends Error {
    constructor(code: string, message: string, cause?: unknown);
    readonly code: string;
}

// ---- budgets -----------------------------------------------------------------------------------------------------

/** Where a budget is kept. `save` keeps the bytes durably, or throws, rejects or returns false. */
export interface BudgetStore {
    /** The bytes that were saved last, or null when there is no budget yet. */
    load(): Bytes | null | undefined | Promise<Bytes | null | undefined>;
    save(bytes: Uint8Array): unknown;
}

/** A store for demonstrations: what it holds is gone with the page, and a new budget begins. */
export function memoryStore(): BudgetStore;

export interface BudgetOptions {
    /** 16 bytes that name a person, such as a hash of an account. */
    owner: Bytes;
    /** Σ ε of response releases. */
    epsilon: number;
    /** ε and δ of all Gaussian releases together; 0 unless given. */
    epsilonGaussian?: number;
    delta?: number;
    /** Of a crowd: Σ ε₀ of all photos whose cell is drawn, and ε and δ of all own messages; 0 unless given. */
    epsilonFloor?: number;
    epsilonCrowd?: number;
    deltaCrowd?: number;
    store: BudgetStore;
}

export interface Remaining {
    epsilonCap: number;
    epsilonSpent: number;
    mu2Cap: number;
    mu2Spent: number;
    delta: number;
    floorCap: number;
    floorSpent: number;
    crowdMu2Cap: number;
    crowdMu2Spent: number;
    crowdDelta0Cap: number;
    crowdDelta0Spent: number;
    crowdDelta: number;
}

/** What a person has left. Made by PrivateMail.openBudget. */
export class Budget {
    private constructor();
    /** What was spent, and of how much. */
    remaining(): Remaining;
}

// ---- crowds ------------------------------------------------------------------------------------------------------

/** The app's policy of a crowd, as in privatemail_crowd.h. `own` is 1 and the others are 0 unless given. */
export interface CrowdPolicy {
    clients?: number;
    clusters?: number;
    copies: number;
    own?: number;
    relayClusters?: number;
    cover?: boolean;
    delta0?: number;
    mu?: number;
}

export interface CrowdUse {
    /** Slots × cells of the pack. */
    cells: number;
    floor: number;
    queries?: number;
}

export interface CrowdGoal extends CrowdUse {
    epsilon: number;
    delta: number;
    clients?: number;
    /** The part of the clients that is counted on; 0.5 unless given. */
    honest?: number;
    copiesMax?: number;
    own?: number;
    /** Whether the relay makes all fakes. */
    relay?: boolean;
}

export interface CrowdPlan {
    policy: Required<Pick<CrowdPolicy, 'clients' | 'clusters' | 'copies' | 'own' | 'relayClusters'>>;
    fakes: number;
    delta: number;
    /** Whether the floor alone does not keep the promise. */
    needed: boolean;
}

export interface BundleMessage {
    bytes: Uint8Array;
    /** 0 for a fake, else 1 to the policy's `own`. Never tell which. */
    own: number;
}

export interface Bundle {
    bytes: Uint8Array;
    messages: BundleMessage[];
    receipt: Receipt;
}

/** A bundle that the relay has. Made by Relay.send. */
export interface Handed {
    readonly epoch: number;
    readonly ticket: string;
    readonly bytes: Uint8Array;
    readonly bundle: Uint8Array[];
    readonly messageSize: number;
    readonly answerSize: number;
    /** The opened answers to the own messages, for client.answer. Waits for the end of the epoch; only once. */
    answers(options?: { seconds?: number }): Promise<{ own: number; bytes: Uint8Array }[]>;
}

export interface RelayOptions {
    /** The gateway's key configuration that the app pinned with the pack. */
    keys?: Iterable<number>;
    /**
     * Bytes of one sealed answer, 16 MiB unless given. A relay that announces longer ones gets no bundle. The answers to
     * all own messages are kept at once, so they take at most so many bytes each, and one of them twice.
     */
    answerLimit?: number;
}

/** A relay that mixes. Made by PrivateMail.openRelay. */
export class Relay {
    private constructor();
    /** The gateway's key configuration: pin it with the pack. */
    get keys(): Uint8Array;
    /** The open epoch of a pack, whose id is hexadecimal. */
    epoch(pack: string): Promise<{ epoch: number; closes: number; message: number; answer: number }>;
    /** Seals the messages of a bundle for the open epoch, and hands them over as a whole. */
    send(pack: string, messages: readonly BundleMessage[]): Promise<Handed>;
}

// ---- clients -----------------------------------------------------------------------------------------------------

export interface ClientOptions {
    /** The app's promise for one release; in a crowd the floor. */
    epsilon: number;
    /** 'response' unless given. 'gaussian' needs `delta` and takes `valueBytes` 1 or 2. */
    mechanism?: 'response' | 'gaussian';
    delta?: number;
    valueBytes?: 0 | 1 | 2;
    /** Whether input that cannot be used gives a release all the same. */
    substitute?: boolean;
    /** Bytes of an answer beyond which it is refused; 16 MiB unless given. */
    answerLimit?: number;
    crowd?: CrowdPolicy;
}

/** What one release costs and how it is made. All of it is public. */
export interface Receipt {
    mechanism: 'response' | 'gaussian' | 'crowd';
    epsilon: number;
    delta: number;
    sensitivity: number;
    sigma: number;
    mu: number;
    keep: number;
    bytes: number;
    messages: number;
}

export interface Release {
    /** What to send. When the network fails, send the same again. */
    bytes: Uint8Array;
    receipt: Receipt;
    /** What the server sees, slot by slot; null when the pack has no codes. */
    rows: Float32Array | null;
}

export interface QueryOptions {
    /** A name of pack.modalities(); the first unless given. */
    modality?: string | undefined;
}

export interface AnswerOptions extends QueryOptions {
    /** Which candidates are ranked: those of the query's own slot (unless given), or all. */
    scope?: 'own' | 'all';
    /** Most matches wanted, 1 to 256; 10 unless given. */
    limit?: number;
}

/** An item that is near to the true query. Private: which ones were found tells about the query. */
export interface Match {
    item: bigint;
    label: number;
    slot: number;
    /** Cosine of the sketches, -1 to 1. */
    score: number;
    payload: Uint8Array;
}

export interface Answer {
    /** Best first. */
    matches: Match[];
    /** Candidates in the answer, items of the gallery, and the one divided by the other. */
    carried: number;
    gallery: number;
    share: number;
    bytes: number;
}

/** Makes releases of one pack with one ε, or bundles, and ranks answers. Made by Pack.client; close it when done. */
export class Client {
    private constructor();
    /** Bytes of memory that the core uses for this client. */
    get memorySize(): number;
    get receipt(): Receipt;
    /** Pays for one release, durably, and draws its randomness. */
    arm(budget: Budget): Promise<void>;
    /** The same for one bundle of a crowd. */
    armBundle(budget: Budget, kind: 'query' | 'kept' | 'idle'): Promise<void>;
    /** Gives up what was armed, and takes its price back. */
    disarm(budget: Budget): Promise<void>;
    /** The message for the server. Packs of one slot need no label. */
    release(features: Features, label?: number, options?: QueryOptions): Release;
    /** The bundle for the relay, armed as 'query'. */
    bundle(features: Features, label?: number, options?: QueryOptions): Bundle;
    /** The bundle that was armed as 'kept'. `message`: the photo's one whose `own` was 1. */
    keptBundle(message: Bytes): Bundle;
    /** The bundle that was armed as 'idle'. */
    idleBundle(): Bundle;
    /** Ranks an answer by the true features. After an error ask for the same bytes again. */
    answer(source: AnswerSource, features: Features, label?: number, options?: AnswerOptions): Promise<Answer>;
    /** Wipes the client and gives its memory back. */
    close(): void;
}

/** Several looks at one photo, which become one query. Made by PrivateMail.looks; close it when done. */
export class Looks {
    private constructor();
    /** Adds a look, of as many numbers as were announced. */
    add(look: Features): void;
    /** The mean's features, for a query. */
    mean(): Float32Array;
    /** Wipes them. */
    close(): void;
}

// ---- packs -------------------------------------------------------------------------------------------------------

export interface PackInfo {
    /** To pin: 32 hexadecimal digits. */
    readonly id: string;
    /** The name of the model that the features are of; '' when the pack names none. */
    readonly model: string;
    readonly size: number;
    readonly features: number;
    readonly anchors: number;
    readonly neighbours: number;
    readonly dimensions: number;
    readonly slots: number;
    readonly slotKind: 'one' | 'class' | 'group';
    readonly cells: number;
    readonly prototypes: number;
    readonly classes: number;
    readonly lambda: number;
    readonly alpha: number;
    readonly sketch: number;
    readonly labels: number;
    readonly cellCodes: boolean;
    readonly lists: boolean;
}

export interface Modality {
    readonly name: string;
    readonly features: number;
    readonly kind: 'none' | 'signs' | 'matrix' | 'kernels';
    readonly root: boolean;
}

/** A likely label; as private as the query. */
export interface Guess {
    label: number;
    score: bigint;
}

/** What device and server both know. Made by PrivateMail.openPack. */
export class Pack {
    private constructor();
    get info(): PackInfo;
    /** What may be asked for. */
    modalities(): Modality[];
    /** The classes; none when there is one slot. */
    classes(): { label: number; slot: number }[];
    /** A public point of the embedding. */
    anchor(index: number): { slot: number; code: Int16Array };
    client(options: ClientOptions): Client;
    /** The likeliest labels, by the pack's head. */
    guess(features: Features, options?: QueryOptions & { count?: number }): Guess[];
    /** The embedding rows of a release, slot by slot: what the server sees. */
    rows(release: Bytes): Float32Array;
    /** The number of the cell that a response release names for each slot. */
    releaseSymbols(release: Bytes): Uint32Array;
}

// ---- the library -------------------------------------------------------------------------------------------------

export class PrivateMail {
    private constructor();
    /** Loads privatemail.wasm: its bytes, or an address (a text or a URL); without an argument the file beside this. */
    static load(source?: string | { readonly href: string } | Bytes): Promise<PrivateMail>;
    get version(): string;
    /** Validates a pack completely. Pin its `id`, and name the `model` that makes your features. */
    openPack(bytes: Bytes, options?: { id?: string | Bytes | undefined; model?: string | undefined }): Promise<Pack>;
    /** The owner's budget from the store, or a new one with these caps when it has none. */
    openBudget(options: BudgetOptions): Promise<Budget>;
    /** Several looks at one photo, each of so many features. */
    looks(features: number): Looks;
    /** The crowd's policy with fewest fakes. */
    planCrowd(goal: CrowdGoal): CrowdPlan;
    /** δ at `epsilon` of a policy; never below the truth. */
    crowdDelta(policy: CrowdPolicy, use: CrowdUse, epsilon: number): number;
    /** The least ε for `delta` of a policy; never below the truth. */
    crowdEpsilon(policy: CrowdPolicy, use: CrowdUse, delta: number): number;
    /** The μ that one own message is booked with next to `delta0`. */
    crowdMu(policy: CrowdPolicy, cells: number, delta0: number): number;
    openRelay(url: string | { readonly href: string }, options?: RelayOptions): Promise<Relay>;
    /** The best chance that any method has to bring the right cell when the answer carries `share` of the gallery. */
    curve(epsilon: number, share: number): number;
    /** The ε that reaches the chance `probability` at `share`; NaN when there is none. */
    curveEpsilon(share: number, probability: number): number;
}
