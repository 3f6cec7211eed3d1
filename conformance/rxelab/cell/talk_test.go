package cell

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cmTool(t *testing.T, name string) *Tool {
	t.Helper()
	for i := range cmTools {
		if cmTools[i].Name == name {
			return &cmTools[i]
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func TestCommandLinesOfTheConnectionManager(t *testing.T) {
	const gorxe = "/run/rxelab/gorxe "
	for _, c := range []struct {
		name           string
		cell           Cell
		server, client string
	}{
		{"rping",
			Cell{Workload: Workload{cmTool(t, "rping"), Params{Size: 65000, Iters: 100}}, Role: Server, Family: IPv6},
			gorxe + "rping -s -a fd00:18:0:2::2 -p 20001 -V -C 100 -S 65000",
			"rping -c -a fd00:18:0:2::2 -p 20001 -V -C 100 -S 65000"},
		{"ucmatose", Cell{Workload: Workload{cmTool(t, "ucmatose"), Params{Size: 100, Conns: 32, Iters: 100}},
			Role: Client, Family: IPv4},
			"ucmatose -b 198.18.2.1 -c 32 -p 20001 -C 100 -S 100",
			gorxe + "cm -c 198.18.2.1 -n 32 -p 20001 -C 100 -S 100"},
		{"udaddy has a port of its own",
			Cell{Workload: Workload{cmTool(t, "udaddy"), Params{Size: 100, Iters: 10}}, Role: Server, Family: IPv4},
			gorxe + "cm -s -b 198.18.2.2 -P udp -p 7174 -n 1 -C 10 -S 100", "udaddy -s 198.18.2.2 -c 1 -C 10 -S 100"},
		{"rdma_server and rdma_client",
			Cell{Workload: Workload{cmTool(t, "rdma_server"), once[0]}, Role: Client, Family: IPv6},
			"rdma_server -s fd00:18:0:2::1 -p 20001", gorxe + "cm -c fd00:18:0:2::1 -n 1 -p 20001 -C 1 -S 16"},
		{"cmtime in step with a server", Cell{Suite: "trixie",
			Workload: Workload{cmTool(t, "cmtime, in step"), hundred[0]}, Role: Server, Family: IPv4},
			gorxe + "cm -s -b 198.18.2.2 -n 100 --step -p 20001", "cmtime -s 198.18.2.2 -c 100 -p 20001"},
		{"cmtime in step with a client", Cell{Suite: "trixie",
			Workload: Workload{cmTool(t, "cmtime, in step"), hundred[0]}, Role: Client, Family: IPv4},
			"cmtime -b 198.18.2.1 -c 100 -p 20001", gorxe + "cm -c 198.18.2.1 -n 100 --step -p 20001"},
		{"nobody listens where gorxe asks",
			Cell{Workload: Workload{cmTool(t, "rping, no listener"), attempt[0]}, Role: Client, Family: IPv4},
			"", gorxe + "rping -c -a 198.18.2.1 -p 20001 -C 1"},
		{"gorxe listens on another port",
			Cell{Workload: Workload{cmTool(t, "rping, no listener"), attempt[0]}, Role: Server, Family: IPv4},
			gorxe + "rping -s -a 198.18.2.2 -p 20002", "rping -c -a 198.18.2.2 -p 20001 -C 1"},
		{"gorxe asks where nobody is",
			Cell{Workload: Workload{cmTool(t, "rping, dead host"), attempt[0]}, Role: Client, Family: IPv6},
			"", gorxe + "rping -c -a fd00:18:0:2::3 -p 20001 -C 1"},
		{"perftest", Cell{Suite: "trixie",
			Workload: Workload{cmTool(t, "ib_read_bw -R"), managedBW[0]}, Role: Client, Family: IPv6},
			"ib_read_bw -d rxe2 -x 3 -p 20001 -F -R -n 20 -s 65536 --ipv6-addr",
			gorxe + "perf read_bw -d g2 -x 2 -p 20001 -F -R -n 20 -s 65536 --ipv6-addr fd00:18:0:2::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, client := commandLines(c.cell)
			if d := cmp.Diff([]string{c.server, c.client}, []string{server, client}); d != "" {
				t.Error(d)
			}
		})
	}
}

// A typing error in a table must not be found only by a run.
func TestEveryLineOfATalkCanBeFilledIn(t *testing.T) {
	l := testLink()
	for _, c := range cmMatrix(t, LevelFull) {
		talk := c.talk()
		if talk == nil {
			continue
		}
		stock, gorxe := c.lines(l, 20001)
		if line := strings.Join(append(stock, gorxe...), " "); strings.ContainsAny(line, "{}") {
			t.Errorf("%s: %s", c.ID(), line)
		}
		for _, text := range []string{talk.ServerSays.Must, talk.ServerSays.Never, talk.ClientSays.Must,
			talk.ClientSays.Never} {
			if text = c.words("", "", 0).Replace(text); strings.ContainsAny(text, "{}") {
				t.Errorf("%s: %s", c.ID(), text)
			}
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", c.ID(), err)
			}
		}
	}
}

func TestWhatEndsOfATalkMaySay(t *testing.T) {
	const pinged = "ping data: rdma-ping-99: ABC\nclient DISCONNECT EVENT...\n"
	rping, cmtime := Workload{cmTool(t, "rping -v"), pings[0]}, Workload{cmTool(t, "cmtime"), hundred[0]}
	inStep := Workload{cmTool(t, "cmtime, in step"), hundred[0]}
	const bothTables = "qp_conn               100\nthreads                 1\ndestroy qp              0\n" +
		"Accept (100) test - no QPs\ncm_conn               100\nthreads                 1\ndestroy qp              0          1\n"
	refused, dead := Workload{cmTool(t, "rping, no listener"), attempt[0]},
		Workload{cmTool(t, "rping, dead host"), attempt[0]}
	for _, c := range []struct {
		name          string
		workload      Workload
		role          Role // of gorxe
		code          int
		log           string
		client, ended bool
		want          string // in the error; empty: none
	}{
		{"client to the last ping", rping, Server, 0, pinged, true, true, ""},
		{"client that stopped early", rping, Server, 0, "ping data: rdma-ping-98: \nwait for RDMA_WRITE_ADV state 10\n",
			true, true, "rdma-ping-99"},
		{"server that disconnected early, status 0", Workload{cmTool(t, "rping"), longPings[0]}, Server, 0,
			"wait for RDMA_WRITE_ADV state 10\n", true, true, "wait for"},
		{"a status other than 0", rping, Server, 1, pinged, true, true, "exit status"},
		{"gorxe may say what it likes", rping, Client, 0, "", true, true, ""},
		{"gorxe fails", rping, Client, 2, "unknown command \"rping\"", true, true, "unknown command"},
		{"cmtime refused with status 0", cmtime, Server, 0,
			"event: RDMA_CM_EVENT_REJECTED, error: 8\ndisconnect   :  1.00\n", true, true, "event: "},
		{"cmtime to its end", cmtime, Server, 0, "disconnect   :       0.04\n", true, true, ""},
		{"cmtime's server, ended by the lab", cmtime, Client, -1, "", false, false, ""},
		{"cmtime's server had trouble", cmtime, Client, -1, "failure accepting\n", false, false, "fail"},
		{"cmtime in step to its end", inStep, Server, 0, bothTables, true, true, ""},
		{"cmtime's server in step to its end", inStep, Client, 0, bothTables, false, true, ""},
		{"cmtime in step with one table only", inStep, Server, 0, bothTables[:strings.Index(bothTables, "Accept")],
			true, true, "cm_conn"},
		{"cmtime in step refused", inStep, Server, 1, "event: RDMA_CM_EVENT_REJECTED, error: 10\n", true, true,
			"exit status 1"},
		{"cmtime's server in step met something unknown", inStep, Client, 0, bothTables + "Unhandled event: 5 (x)\n",
			false, true, "Unhandled"},
		{"refused", refused, Server, 255, "cma event RDMA_CM_EVENT_REJECTED, error 8\n", true, true, ""},
		{"refused for another reason", refused, Server, 255, "cma event RDMA_CM_EVENT_REJECTED, error 28\n", true,
			true, "error 8"},
		{"not refused", refused, Server, 0, "", true, true, "reports success"},
		{"gorxe refused", refused, Client, 1, "gorxe: rejected: invalid service ID", true, true, ""},
		{"gorxe fails otherwise", refused, Client, 1, "gorxe: unknown command", true, true, "reject"},
		{"gorxe not refused", refused, Client, 0, "rejected", true, true, "reports success"},
		{"gorxe finds nobody", dead, Client, 1, "gorxe: 198.18.0.3 is unreachable", true, true, ""},
		{"gorxe, which listens, ended by the lab", refused, Server, -1, "listening", false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := Cell{Workload: c.workload, Role: c.role}
			err := cell.Heard(c.code, fmt.Sprintf("exit status %d", c.code), c.log, c.client, c.ended)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func cmMatrix(t *testing.T, level Level) []Cell {
	t.Helper()
	cells, err := Matrix(CM, level, Suites)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// The agreed runs are listed here, independently of the tables.
func TestConnectionManagerGroupHasWhatWasAgreedInBothRolesAndFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cmMatrix(t, LevelFull) {
		if id := c.ID(); seen[id] {
			t.Errorf("%s: twice", id)
		} else {
			seen[id] = true
		}
	}
	runs := []string{"rping--v/64", "rping--v/4000", "rping/65000", "ucmatose/100--c-32", "udaddy/100",
		"rdma_server/16", "cmtime/0--c-100",
		"rping--no-listener/64", "udaddy--no-listener/64", "rping--dead-host/64", "udaddy--dead-host/64"}
	managed := []string{"ib_write_bw--R/65536", "ib_read_bw--R/65536", "ib_send_bw--R/65536", "ib_atomic_bw--R/8",
		"ib_write_lat--R/2", "ib_read_lat--R/2", "ib_send_lat--R/2", "ib_atomic_lat--R/8"}
	for _, suite := range Suites {
		for _, role := range []string{"gorxe-client", "gorxe-server"} {
			for _, family := range []string{"IPv4", "IPv6"} {
				for _, run := range runs {
					if id := suite + "/clean/" + run + "/" + role + "/" + family; !seen[id] {
						t.Errorf("%s: missing", id)
					}
				}
				inStep := suite + "/clean/cmtime--in-step/0--c-100/" + role + "/" + family
				if has := suite == "trixie" && family == "IPv4"; seen[inStep] != has {
					t.Errorf("%s: %v, want %v", inStep, seen[inStep], has)
				}
				for _, run := range managed {
					id := suite + "/clean/" + run + "/" + role + "/" + family
					if has := suite != "bookworm" || family != "IPv6"; seen[id] != has {
						t.Errorf("%s: %v, want %v", id, seen[id], has)
					}
				}
			}
		}
	}
}

func TestConnectionManagerGroupLosesNothing(t *testing.T) {
	disturbed := map[string]bool{}
	for _, c := range cmMatrix(t, LevelFull) {
		if c.Condition.loses() {
			t.Errorf("%s: whoever misses a DREQ waits for ever", c.ID())
		}
		if c.Condition.Impaired() {
			disturbed[c.Workload.Tool.Name] = true
		}
	}
	if d := cmp.Diff(map[string]bool{"rping -v": true, "rping": true, "ucmatose": true}, disturbed); d != "" {
		t.Error(d)
	}
}

func TestConnectionManagerGroupAtLevelCIHasEveryToolInBothRoles(t *testing.T) {
	mustCover(t, cmMatrix(t, LevelCI), cmMatrix(t, LevelFull), func(c Cell) []string {
		w := c.Workload
		k := []string{
			fmt.Sprint("workload: ", w.Tool.Name, " ", w.Params),
			fmt.Sprint("condition: ", c.Condition),
		}
		if c.Outcome() != Unreachable {
			k = append(k, fmt.Sprint("tool and role: ", w.Tool.Name, " ", c.Role))
		}
		if !w.Long() {
			k = append(k, fmt.Sprint("workload and role: ", c.Suite, " ", w.Tool.Name, " ", w.Params, " ", c.Role))
		}
		return k
	})
}

func TestProgramsAreThoseOfTheKernelsRelease(t *testing.T) {
	for _, c := range cmMatrix(t, LevelFull) {
		want := c.Suite
		if c.Workload.Tool.Name == "cmtime" {
			want = "bookworm"
		}
		if got := c.Release(); got != want {
			t.Errorf("%s: programs of %s, want %s", c.ID(), got, want)
		}
	}
	if got := (Cell{Suite: "bookworm", Workload: Workload{Tool: &coreTools[0]}}).Release(); got != "" {
		t.Errorf("a tool of the core group: programs of %q, want the host's", got)
	}
}

// If the exchange runs over IPv4 and RDMA over IPv6, gorxe needs an option for the peer's GID,
// which it would otherwise reject.
func TestGorxeIsToldOfAGIDThatIsNotTheAddressOfTCP(t *testing.T) {
	l := testLink()
	told := 0
	for _, g := range []Group{Core, Verbs, CM, Alone, Links} {
		for _, w := range g.Workloads() {
			for _, f := range []Family{IPv4, IPv6} {
				for _, role := range []Role{Server, Client} {
					c := Cell{Workload: w, Family: f, Role: role}
					if w.Tool.Gorxe == nil && w.Tool.Talk == nil || c.talk() != nil && c.talk().Daemon &&
						role == Client {
						continue
					}
					_, gorxe := c.Commands(l, 1)
					line := strings.Join(gorxe, " ")
					tcp := IPv4
					if w.Tool.IPv6TCP && role == Server || w.Tool.CM && (c.talk() == nil || !c.talk().Daemon) {
						tcp = f
					}
					has := strings.Contains(line, " --foreign-gids "+l.Rxe.Addr[IPv6].String())
					if has != (tcp != f) {
						t.Errorf("%s: %v", line, c)
					}
					if has {
						told++
					}
				}
			}
		}
	}
	if told == 0 {
		t.Error("no cell tells")
	}
}
