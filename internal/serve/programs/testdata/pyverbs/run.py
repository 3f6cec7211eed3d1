# Runs the tests of pyverbs in a directory on a device, and prints a line for each: RESULT, what came of it, its name, and
# why, with tabs between them.
import importlib.machinery
import sys
import unittest

directory, device, gid = sys.argv[1:]
sys.path.insert(0, directory)
sys.argv = ["run_tests.py", "--dev", device, "--gid", gid]


class Printer(unittest.TestResult):
    def tell(self, what, test, why=""):
        print("RESULT", what, test.id(), " ".join(str(why).split()), sep="\t", flush=True)

    def addSuccess(self, test):
        self.tell("pass", test)

    def addSkip(self, test, reason):
        self.tell("skip", test, reason)

    def addFailure(self, test, err):
        self.tell("fail", test, err[1])

    addError = addFailure


from args_parser import parser  # of the directory

tests = importlib.machinery.SourceFileLoader("tests", directory + "/__init__.py").load_module()
parser.parse_args()
unittest.defaultTestLoader.loadTestsFromModule(tests).run(Printer())
