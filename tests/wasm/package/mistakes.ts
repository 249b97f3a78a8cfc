// SPDX-License-Identifier: Apache-2.0
// Each marked line is a mistake that the types must find; one that they do not find is an error too.
import { Client, Pack, PrivateMail, PrivateMailError } from 'privatemail';

export async function mistakes(library: PrivateMail, pack: Pack, client: Client): Promise<void> {
    // @ts-expect-error a client needs its ε
    pack.client({ mechanism: 'response' });
    // @ts-expect-error there is no such mechanism
    pack.client({ epsilon: 4, mechanism: 'laplace' });
    // @ts-expect-error a budget needs a store
    await library.openBudget({ owner: new Uint8Array(16), epsilon: 20 });
    // @ts-expect-error packs are made by openPack
    new Pack();
    // @ts-expect-error rows may be null
    client.release(new Float32Array(3), 0).rows.length;
    // @ts-expect-error an item's number is a bigint
    const item: number = (await client.answer(new Uint8Array(1), [1, 2, 3], 0)).matches[0]!.item;
    // @ts-expect-error its info is read-only
    pack.info.cells = item;
    const failure: Error = new PrivateMailError(-4, 'text');
    console.log(failure.name);
}
