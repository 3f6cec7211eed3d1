# Runs rdma-core's tests on a device, and prints a line for each: RESULT, the result, the test's name, and why it
# failed or was skipped, with tabs between them. Of several lines for a test the last one holds. The arguments are the directory of the tests, the device, its GID index
# and the address of that GID.
#
# Tests of rdma_cm look for their address below the device's directory "device" in sysfs, which that of rxe does not
# have. Here all use the one that is given.
import gc
import gzip
import importlib.util
import os
import shutil
import sys
import tempfile
import unittest


BATCH = 16  # tests that share a process, which takes longer to find the device than a test


class Printer(unittest.TestResult):
    def tell(self, result, test, why=""):
        # Other output may stand before it on the line.
        print("\nRESULT", result, test.id(), " ".join(str(why).split()), sep="\t", flush=True)

    def addSuccess(self, test):
        self.tell("pass", test)

    def addSkip(self, test, reason):
        self.tell("skip", test, reason)

    def addFailure(self, test, err):
        self.tell("fail", test, err[1])

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.tell("fail", test, err[1])


def unpack(source, directory):
    """Copies the tests of a distribution, which compresses some of them."""
    for name in os.listdir(source):
        path = os.path.join(source, name)
        if name.endswith(".gz"):
            with gzip.open(path) as packed, open(os.path.join(directory, name[:-3]), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        elif os.path.isfile(path):
            shutil.copy(path, directory)


def load(directory):
    """Imports the tests as the package "tests", as their own run_tests.py does."""
    sys.path.insert(0, directory)
    spec = importlib.util.spec_from_file_location(
        "tests", os.path.join(directory, "__init__.py"), submodule_search_locations=[directory])
    tests = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = tests
    spec.loader.exec_module(tests)
    return tests


def each(tests):
    """Yields the tests of a suite one by one."""
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def run(tests):
    """Runs tests in a process of their own, whose end closes what they leave open. If it crashes, each gets one."""
    child = os.fork()
    if child == 0:
        unittest.TestSuite(tests).run(Printer())
        sys.stdout.flush()
        os._exit(0)  # not Python's own end, which collects garbage
    _, status = os.waitpid(child, 0)
    if status == 0:
        return
    if len(tests) > 1:
        for test in tests:
            run([test])
    else:
        Printer().tell("fail", tests[0], "its process ended with status %d" % status)


def main():
    source, device, gid, address = sys.argv[1:]
    sys.argv = ["run_tests.py", "--dev", device, "--gid", gid]
    with tempfile.TemporaryDirectory() as directory:
        unpack(source, directory)
        tests = load(directory)
        from args_parser import parser
        from tests.base import RDMATestCase

        RDMATestCase._get_ip_mac = lambda self, dev, port, index: self.args.append([dev, port, index, address, None])
        parser.parse_args()
        gc.disable()  # in it pyverbs of rdma-core 56 crashes, over objects that could not be made
        tests = list(each(unittest.defaultTestLoader.loadTestsFromModule(tests)))
        for first in range(0, len(tests), BATCH):
            run(tests[first:first + BATCH])


main()
