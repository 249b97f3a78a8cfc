"""Writes vectors.h (all of it, for C) and vectors.txt (what the public API shows, for every other language) from the
reference; with --check compares instead and exits 1 if a file differs."""
import pathlib
import sys
from decimal import Decimal
from fractions import Fraction

import cases
import cases_front
from reference import (GAUSSIAN, RESPONSE, Calibration, Certificate, KeyStream, decode_rows, deviate,
                       encode_gaussian, encode_response, exp31, inverse_norm, private_row, quantise, rank_answer,
                       response_draw, response_threshold, sketch, update, write_budget)
from reference_crowd import BUDGET_NAMES, bundle, crowd_release, read_budget_2, symbol_of, upgrade_budget, write_budget_2
from vectors_text import Header, patterns, quoted, signed, unsigned, write_or_check

TARGET = pathlib.Path(__file__).with_name("vectors.h")
PLAIN = TARGET.with_suffix(".txt")


def fronted_rows(packs, rows, column):
    """How many rows, the last ones, are of packs with fronts; a column has the pack's number."""
    fronted = [bool(packs[int(row[column])][1].fronts) for row in rows]
    assert fronted == sorted(fronted)
    return sum(fronted)


def write_packs(header, packs):
    rows = []
    for index, (name, pack) in enumerate(packs):
        data = header.array("uint8_t", "pack_%d" % index, pack.bytes)
        own_id = header.array("uint8_t", "pack_%d_id" % index, pack.id)
        model = "".join("\\%03o" % byte for byte in pack.model.encode())
        rows.append([quoted(name), data, str(len(pack.bytes)), own_id, '"%s"' % model])
        header.plain("pack", name, pack.bytes.hex(), pack.id.hex(), pack.model)
    header.table("pack", "golden_packs", rows, fronted=sum(bool(pack.fronts) for _, pack in packs))


def write_releases(header, packs):
    """The releases, and the calibrations they need."""
    rows, calibrations = [], {}
    for number, case in enumerate(cases.release_cases(packs)):
        name, index, mechanism, epsilon, delta, width, label, seed, bits, modality = case
        pack, prefix = packs[index][1], "release_%d" % number
        if mechanism == RESPONSE:
            check_threshold(epsilon, pack.m)
            release = encode_response(pack, bits, label, epsilon, seed, modality)
        else:
            release = encode_gaussian(pack, bits, label, epsilon, delta, width, seed, modality)
            for either in (1, 2):
                calibrations[index, epsilon, delta, either] = None
        assert mechanism in (RESPONSE, GAUSSIAN)
        decoded = [cases.float_bits_exact(value) for value in decode_rows(pack, release)]
        rows.append([quoted(name), str(index), str(mechanism), repr(epsilon), repr(delta), str(width),
                     header.array("uint8_t", prefix + "_seed", seed), header.array("uint32_t", prefix + "_bits", bits),
                     str(len(bits)), signed(label), header.array("uint8_t", prefix, release), str(len(release)),
                     header.array("uint32_t", prefix + "_rows", decoded), str(len(decoded)), str(modality)])
        header.plain("release", name, index, mechanism, repr(epsilon), repr(delta), width, seed.hex(), patterns(bits),
                     label, release.hex(), patterns(decoded), modality)
    header.table("release", "golden_releases", rows, fronted=fronted_rows(packs, rows, 1))
    write_calibrations(header, packs, calibrations)


def write_calibrations(header, packs, wanted):
    certificates = {index: Certificate(pack) for index, (_, pack) in enumerate(packs) if pack.anchors}
    assert all(certificate.accepted for certificate in certificates.values())
    header.table("certificate", "golden_certificates", [
        [str(index), str(one.floor_weight), unsigned(one.delta), unsigned(one.row_bound)]
        for index, one in certificates.items()], fronted=sum(bool(packs[index][1].fronts) for index in certificates))
    rows = []
    for index, epsilon, delta, width in wanted:
        one = Calibration(packs[index][1], certificates[index], epsilon, delta, width)
        assert one.robust, "an r slightly off could give another g or s: choose another case"
        rows.append([str(index), repr(epsilon), repr(delta), repr(float(one.r))]
                    + [str(value) for value in (one.g, one.s, one.e, one.step, width)])
    header.table("calibration", "golden_calibrations", rows, fronted=fronted_rows(packs, rows, 0))


def write_updates(header, packs):
    certificates = {index: Certificate(pack) for index, (_, pack) in enumerate(packs) if pack.anchors}
    rows = []
    for index, one in certificates.items():
        centres = [int(value * 16384) for centre in one.centres for value in centre]
        label_rows = [value for row in one.label_rows for value in row]
        rows.append([str(index), header.array("int64_t", "centres_%d" % index, centres),
                     header.array("int64_t", "label_rows_%d" % index, label_rows), str(len(centres))])
    header.table("centres", "golden_centres_of_packs", rows)
    rows = []
    for number, (index, bits, label) in enumerate(cases.update_cases(packs)):
        pack, query, prefix, g = packs[index][1], quantise(bits), "update_%d" % number, (1, 3)[number % 2]
        label_rows, slot = certificates[index].label_rows, pack.slot_of(label)
        weights, numerators = update(pack, label_rows, query, slot)
        rows.append([str(index), header.array("uint32_t", prefix + "_bits", bits), str(pack.d), signed(label),
                     header.array("uint16_t", prefix + "_anchors", [anchor for anchor, _ in weights]),
                     header.array("uint32_t", prefix + "_weights", [weight for _, weight in weights]), str(pack.K),
                     header.array("int64_t", prefix + "_num", numerators), str(g),
                     header.array("int32_t", prefix + "_row", private_row(pack, label_rows, query, slot, g)),
                     str(pack.k)])
    header.table("update", "golden_updates", rows)


def check_threshold(epsilon, m):
    """P must not depend on the last bits of a double."""
    assert response_threshold(epsilon, m)[1] > Decimal("0.004"), "choose another case"


def write_answers(header, packs, kind, chosen, family=""):
    """family: before the names in C, of vectors whose packs are not in the order of what a build must have."""
    rows, known = [], {}
    for number, case in enumerate(chosen):
        name, index, slots, offsets, data, bits, label, all_slots, limit, modality = case
        prefix = "%s%s_%d" % (family, kind, number)
        if data not in known:
            known[data] = header.array("uint8_t", prefix, data)
        matches = rank_answer(packs[index][1], slots, offsets, bits, label, all_slots, limit, modality)
        assert all(data[offset:offset + size] in [row[3] for row in slots[slot]]
                   for _, _, slot, _, offset, size in matches)
        if matches:
            header.lines.append("static const struct golden_match %s_matches[%d] = {" % (prefix, len(matches)))
            header.lines += ["    { %s, %s, %d, %d, %d, %d }," % (unsigned(match[0]), signed(match[1]), *match[2:])
                             for match in matches] + ["};"]
        rows.append([quoted(name), str(index), known[data], str(len(data)),
                     header.array("uint32_t", prefix + "_bits", bits), str(len(bits)), signed(label), str(all_slots),
                     str(limit), prefix + "_matches" if matches else "NULL", str(len(matches)), str(modality)])
        header.plain(kind, name, index, data.hex(), patterns(bits), label, int(all_slots), limit,
                     ",".join(":".join(map(str, match)) for match in matches), modality)
    header.table("answer", "golden_%s%ss" % (family, kind), rows, family + kind,
                 0 if family else fronted_rows(packs, rows, 1))


def write_random(header):
    """Deviates, bounded words and response draws. The seed named "reject" was searched for."""
    rows = []
    for number, (name, s, count) in enumerate((("deviates 8", 8, 300), ("deviates 12", 12, 250),
                                               ("deviates 22", 22, 250))):
        seed = cases.seed_bytes(name)
        stream = KeyStream(seed)
        values = [deviate(stream, s) for _ in range(count)]
        rows.append([header.array("uint8_t", "deviates_%d_seed" % number, seed), str(s),
                     header.array("int32_t", "deviates_%d" % number, values), str(count), unsigned(stream.words)])
    header.table("deviates", "golden_deviates", rows)
    rows = []
    for number, n in enumerate((1, 2, 3, 1000, 65536, (1 << 31) + 1, 3 << 30, (1 << 32) - 1, 1 << 32)):
        seed = cases.seed_bytes("below %d" % n)
        stream = KeyStream(seed)
        values = [stream.below(n) for _ in range(12)]
        rows.append([header.array("uint8_t", "below_%d_seed" % number, seed), unsigned(n),
                     header.array("uint32_t", "below_%d" % number, values), "12", unsigned(stream.words)])
    header.table("below", "golden_below_cases", rows)
    rows = []
    for number, (name, m, G, epsilon) in enumerate(cases.DRAWS):
        seed = cases.seed_bytes(name)
        stream = KeyStream(seed)
        check_threshold(epsilon, m)
        P, T, U = response_draw(stream, m, G, epsilon)
        assert (stream.words > G + 3) == (name == cases.REJECT_SEED)
        rows.append([header.array("uint8_t", "draw_%d_seed" % number, seed), str(m), str(G), repr(epsilon),
                     unsigned(P), str(T), header.array("uint16_t", "draw_%d" % number, U), unsigned(stream.words)])
    header.table("response_draw", "golden_response_draws", rows)


def write_vectors(header, packs):
    """Quantised vectors, sketches, budgets."""
    rows = []
    for number, (name, bits) in enumerate(cases.quantise_cases()):
        q = quantise(bits)
        rows.append([quoted(name), header.array("uint32_t", "quantise_%d_bits" % number, bits), str(len(bits)),
                     header.array("int8_t", "quantise_%d" % number, q), str(inverse_norm(q))])
    header.table("quantise", "golden_quantises", rows)
    rows = []
    for number, (index, bits) in enumerate(cases.sketch_cases(packs)):
        values = sketch(packs[index][1], quantise(bits))
        rows.append([str(index), header.array("uint32_t", "sketch_%d_bits" % number, bits), str(len(bits)),
                     header.array("int8_t", "sketch_%d" % number, values), str(len(values))])
    header.table("sketch", "golden_sketches", rows)
    write_budgets(header)


def write_budgets(header):
    """Three of version 1, then three of version 2."""
    ceiling = -(-Fraction(1e-5) * (1 << 64) // 1)
    owners = [cases.seed_bytes("owner %d" % number, 16) for number in range(6)]
    made = [write_budget(owner, *amounts) for owner, amounts in
            zip(owners, ((4 << 20, 1 << 19, 1 << 40, 123456789012, ceiling), (8 << 20, 0, 0, 0, 0),
                         (0, 0, (1 << 64) - 1, (1 << 64) - 1, 1)))]
    most = {name: (1 << (32 if name.split("_")[0] in ("response", "floor") else 64)) - 1 for name in BUDGET_NAMES}
    made += [write_budget_2(owner, **amounts) for owner, amounts in
             zip(owners[3:], (dict(floor_cap=100 << 20, floor_spent=8 << 20, crowd_cap=1 << 38, crowd_spent=987654321,
                                   crowd_delta=ceiling, delta0_cap=int(ceiling) // 2, delta0_spent=55340232),
                              most, dict(response_cap=20 << 20, gaussian_cap=5, delta=ceiling, response_spent=3)))]
    rows, order = [], ("response_cap", "response_spent", "gaussian_cap", "gaussian_spent", "delta", "floor_cap",
                       "floor_spent", "crowd_cap", "crowd_spent", "crowd_delta", "delta0_cap", "delta0_spent")
    for number, data in enumerate(made):
        owner, amounts = read_budget_2(data)
        values = [amounts[name] for name in order]
        header.plain("budget", data.hex(), owner.hex(), *values)
        rows.append([header.array("uint8_t", "budget_%d" % number, data), str(len(data)),
                     header.array("uint8_t", "budget_%d_owner" % number, owner)] + [unsigned(value) for value in values]
                    + [header.array("uint8_t", "budget_%d_current" % number, upgrade_budget(data))])
    header.table("budget", "golden_budgets", rows)


def write_bundles(header, packs):
    rows = []
    for number, case in enumerate(cases.bundle_cases(packs)):
        name, index, floor, policy, bits, label, kept_symbol, modality = case
        pack, prefix, seed = packs[index][1], "bundle_%d" % number, cases.seed_bytes(name)
        check_threshold(floor, pack.G * pack.m)
        kept = b"" if kept_symbol is None else crowd_release(pack, kept_symbol)
        kind = 1 if bits else 2 if kept else 3
        true_symbol = symbol_of(pack, bits, label, modality) if bits else None
        messages = bundle(pack, floor, policy, seed, true_symbol, kept or None)
        data, own = b"".join(message for _, message in messages), bytes(own for own, _ in messages)
        numbers = [repr(floor), repr(policy["clusters"]), policy["copies"], policy["own"], int(policy["cover"])]
        rows.append([quoted(name), str(index), str(kind)] + [str(value) for value in numbers]
                    + [header.array("uint8_t", prefix + "_seed", seed),
                       header.array("uint32_t", prefix + "_bits", bits or []), str(len(bits) if bits else pack.d), signed(label),
                       header.array("uint8_t", prefix + "_kept", kept), str(len(kept)),
                       header.array("uint8_t", prefix, data), str(len(data)),
                       header.array("uint8_t", prefix + "_own", own), str(len(own)), str(modality)])
        header.plain("bundle", name, index, kind, *numbers, seed.hex(), patterns(bits or []), label, kept.hex(),
                     data.hex(), own.hex(), modality)
    header.table("bundle", "golden_bundles", rows, fronted=fronted_rows(packs, rows, 1))


def write_fronts(header, packs):
    step = (1 << 58) / 3098164009                      # what halves the exponential
    chosen = {0, 1, 2, (1 << 32) - 1, (1 << 32) - 2, 1 << 27, 1 << 31}
    chosen |= {int(n * step) + i for n in range(1, 47) for i in (0, 1) if n * step + 1 < 1 << 32}
    header.table("exponential", "golden_exponentials", [["%du" % x, "%du" % exp31(x)] for x in sorted(chosen)])
    rows = []
    for number, (name, index, modality, bits) in enumerate(cases_front.front_cases(packs)):
        front = packs[index][1].fronts[modality][1]
        mapped = front.map(bits) or []
        rows.append([quoted(name), str(index), str(modality), header.array("uint32_t", "front_%d_bits" % number, bits),
                     str(len(bits)), header.array("int8_t", "front_%d" % number, mapped), str(front.d)])
    header.table("front", "golden_fronts", rows)
    rows = []
    for index, pack in ((index, pack) for index, (_, pack) in enumerate(packs) if pack.fronts):
        for v, (name, front) in enumerate(pack.fronts):
            data = front.file()
            rows.append([quoted(name), str(index), str(v),
                         header.array("uint8_t", "front_file_%d_%d" % (index, v), data), str(len(data))])
    header.table("front_file", "golden_front_files", rows)


def vectors():
    header, packs = Header(), cases.make_packs()
    write_packs(header, packs)
    write_vectors(header, packs)
    write_fronts(header, packs)
    write_random(header)
    write_releases(header, packs)
    write_updates(header, packs)
    write_answers(header, packs, "answer", cases.answer_cases(packs))
    write_answers(header, packs, "crowd_answer", cases.crowd_answer_cases(packs))
    write_bundles(header, packs)
    return {TARGET: header.text(), PLAIN: "".join(header.plain_lines)}


if __name__ == "__main__":
    sys.exit(write_or_check(vectors()))
