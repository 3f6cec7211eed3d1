package rxelab

import "fmt"

// Group is a part of the matrix with a report of its own.
type Group string

// The groups.
const (
	Core  Group = "core"  // SEND, WRITE and READ over reliable connections
	Verbs Group = "verbs" // the other services and operations
)

// groups are all groups and what their reports are about.
var groups = map[Group]struct {
	tools       []Tool
	title, page string
}{
	Core:  {coreTools, "Interoperation with Linux rdma_rxe", "docs/interop.md"},
	Verbs: {verbsTools, "Interoperation with Linux rdma_rxe: other services and operations", "docs/interop-verbs.md"},
}

// Check refuses a group that does not exist.
func (g Group) Check() error {
	if _, ok := groups[g]; !ok {
		return fmt.Errorf("group %q: want %s or %s", g, Core, Verbs)
	}
	return nil
}

// Page is where the repository keeps the group's report.
func (g Group) Page() string { return groups[g].page }

// Tools are the programs of the group.
func (g Group) Tools() []Tool { return groups[g].tools }

// Workloads are the group's tools with all their parameters.
func (g Group) Workloads() []Workload {
	var w []Workload
	tools := g.Tools()
	for i := range tools {
		for _, p := range tools[i].runs() {
			w = append(w, Workload{&tools[i], p})
		}
	}
	return w
}
