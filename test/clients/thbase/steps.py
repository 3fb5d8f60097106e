"""The Thrift 2 gateway through thbase: steps.py PORT, with table `thbase` (family f) made before."""
import sys
import traceback

from thbase.config import ClientConfig, ProtocolType, TransportType
from thbase.thrift2.client import Client
from thbase.thrift2.operation import Delete, Get, Put, Scan

outcomes = []


def step(name, run):
    try:
        run()
        outcomes.append(True)
    except Exception as error:  # every step is told, whatever it fails with
        outcomes.append(False)
        print(f"FAIL {name}: {error!r}")
        traceback.print_exc()


def same(expected, actual):
    assert expected == actual, f"not {expected!r} but {actual!r}"


client = Client(
    ClientConfig(
        thrift_host="127.0.0.1",
        port=int(sys.argv[1]),
        transport_type=TransportType.BUFFERED,
        protocol_type=ProtocolType.BINARY,
    )
)
assert client.open_connection()
table = client.get_table("thbase")


def put_and_get():
    table.put(Put(row="a", family="f", qualifier="q", value="1"))
    same([(b"a", b"f", b"q", b"1")], [(c.row, c.family, c.qualifier, c.value) for c in table.get(Get(row="a"))])


def batch():
    table.put_batch([Put(row=f"b{i:03}", family="f", qualifier="q", value=str(i)) for i in range(100)])
    same([b"1", b"99"], [cell.value for cell in table.get_batch([Get(row="b001"), Get(row="b099")])])


def scan():
    same(100, len(table.scan(scan=Scan(start_row="b", stop_row="c", family="f", qualifier="q"))))


def delete():
    table.delete(Delete(row="a", family="f", qualifier="q"))
    assert not table.get(Get(row="a"))


for name, run in [("put and get", put_and_get), ("batch", batch), ("scan", scan), ("delete", delete)]:
    step(name, run)
client.close_connection()
print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
sys.exit(0 if all(outcomes) else 1)
