"""The Python client that speaks the native protocol: steps.py HOST:PORT of ZooKeeper."""
import sys
import traceback

from hbasedriver.client.client import Client
from hbasedriver.common.table_name import TableName
from hbasedriver.filter import PrefixFilter
from hbasedriver.hbase_constants import HConstants
from hbasedriver.operations.append import Append
from hbasedriver.operations.batch import BatchGet, BatchPut
from hbasedriver.operations.column_family_builder import ColumnFamilyDescriptorBuilder
from hbasedriver.operations.delete import Delete
from hbasedriver.operations.get import Get
from hbasedriver.operations.increment import CheckAndPut, Increment
from hbasedriver.operations.put import Put
from hbasedriver.operations.scan import Scan

NAME = TableName.value_of(b"default", b"driver")
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


def admin_steps(admin):
    def create():
        admin.create_table(NAME, [ColumnFamilyDescriptorBuilder(b"cf").build()], split_keys=[b"m"])
        same(True, admin.table_exists(NAME))

    def namespaces():
        admin.create_namespace("driver_ns")
        assert "driver_ns" in admin.list_namespaces()
        admin.delete_namespace("driver_ns")

    step("create", create)
    step("enabled", lambda: same(True, admin.is_table_enabled(NAME)))
    step("describe", lambda: admin.describe_table(NAME))
    step("list", lambda: admin.list_tables())
    step("namespaces", namespaces)
    step("status", lambda: admin.get_cluster_status())
    step("balancer", lambda: admin.is_balancer_enabled())


def table_steps(table):
    def put_and_get():
        table.put(Put(b"row1").add_column(b"cf", b"name", b"Alice"))
        same(b"Alice", table.get(Get(b"row1")).get(b"cf", b"name"))
        same(None, table.get(Get(b"none")))

    def scan():
        for i in range(100):
            table.put(Put(b"user:%03d" % i).add_column(b"cf", b"n", b"%d" % i))
        with table.scan(Scan(start_row=b"user:", end_row=b"user;")) as scanner:
            same(100, sum(1 for _ in scanner))

    def filtered():
        scan = Scan(start_row=b"user:").set_filter(PrefixFilter(b"user:01"))
        with table.scan(scan) as scanner:
            same(10, len(list(scanner)))

    def batch():
        puts = BatchPut()
        puts.add_put(Put(b"a").add_column(b"cf", b"q", b"1"))
        puts.add_put(Put(b"z").add_column(b"cf", b"q", b"2"))
        table.batch_put(puts)
        gets = BatchGet([b"a", b"z"])
        gets.add_column(b"cf", b"q")
        rows = table.batch_get(gets)
        same({b"a", b"z"}, set(rows))

    def atomic():
        same(1, table.increment(Increment(b"counter").add_column(b"cf", b"n", 1)))
        same(3, table.increment(Increment(b"counter").add_column(b"cf", b"n", 2)))
        check = CheckAndPut(b"lock")
        check.set_check(b"cf", b"lock", None)
        check.set_put(Put(b"lock").add_column(b"cf", b"lock", b"locked"))
        same(True, table.check_and_put(check))
        same(False, table.check_and_put(check))
        table.append(Append(b"row1").add_column(b"cf", b"name", b"!"))
        same(b"Alice!", table.get(Get(b"row1")).get(b"cf", b"name"))

    def delete():
        table.delete(Delete(b"row1"))
        same(None, table.get(Get(b"row1")))

    for name, run in list(locals().items()):
        if callable(run):
            step(name, run)


def snapshot_steps(admin):
    def snapshot():
        admin.create_snapshot(NAME, "driver_snapshot")
        same(True, admin.snapshot_exists("driver_snapshot"))
        admin.delete_snapshot("driver_snapshot")

    def drop():
        admin.disable_table(NAME)
        admin.delete_table(NAME)
        same(False, admin.table_exists(NAME))

    step("snapshot", snapshot)
    step("drop", drop)


with Client({HConstants.ZOOKEEPER_QUORUM: sys.argv[1]}) as client:
    with client.get_admin() as admin:
        admin_steps(admin)
        with client.get_table(b"default", b"driver") as table:
            table_steps(table)
        snapshot_steps(admin)
print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
sys.exit(0 if all(outcomes) else 1)
