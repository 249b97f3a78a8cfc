"""The name of a pack's model: written by pack, shown by inspect, demanded by privatize and query."""
from harness import INPUT, USAGE, read_schemas, schema_faults

NAME = "caf\u00e9-net v2, 224\u00d7224 \U0001f4f7"
QUERY = ["--features", "query.npy", "--labels", "query_labels.npy", "--epsilon", "4"]


def run_all(tester):
    """Uses the collection that flow.py made."""
    schemas = read_schemas()
    base = ["pack", "--features", "public.npy", "--cells", "4"]
    made = tester.json("named", *base, "--model", NAME, "--out", "named.pmpk")
    shown = tester.json("inspect", "inspect", "named.pmpk")
    for command, document in (("pack", made), ("inspect", shown)):
        faults = schema_faults(schemas[command], document)
        tester.check(not faults and document["model"] == NAME, "%s tells the model: %s %s" % (command, document, faults))
    text = tester.succeeds("inspect text", "inspect", "named.pmpk").stdout.decode()
    tester.check(NAME in text, "inspect: text")
    tester.succeeds("not named", *base, "--out", "nameless.pmpk")
    tester.check(tester.json("inspect", "inspect", "nameless.pmpk")["model"] is None, "a pack need not name a model")
    tester.succeeds("demanded", "privatize", "--pack", "named.pmpk", *QUERY, "--model", NAME, "--out", "named.cbor")
    tester.succeeds("not demanded", "privatize", "--pack", "named.pmpk", *QUERY, "--out", "named.cbor", "--force")
    for pack, found in (("named.pmpk", NAME), ("nameless.pmpk", "names none")):
        tester.fails("another model", INPUT, [pack, found, "resnet"], "privatize", "--pack", pack, *QUERY, "--model",
                     "resnet", "--out", "never.cbor")
        if tester.leaves_out("the model that a query demands", "the command has no network on Windows"):
            continue
        tester.fails("another model", INPUT, [pack, found, "resnet"], "query", "--server", "http://127.0.0.1:9", "--pack",
                     pack, *QUERY, "--model", "resnet")
    no_text = [] if tester.leaves_out("a name that is no text", "Windows has arguments in UTF-16") else [b"\xff"]
    for wrong in ["", "x" * 65, "two\nlines", "\u0085"] + no_text:
        tester.fails("no name", USAGE, ["--model"], *base, "--model", wrong, "--out", "never.pmpk")
