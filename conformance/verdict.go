package conformance

// Verdict is the result of a case.
type Verdict uint8

const (
	Pass         Verdict = iota
	Fail                 // a "shall" is violated
	Warn                 // a "should" is violated
	Unclear              // the specification leaves it open, or respected implementations differ
	Measured             // a number or behaviour was observed; there is no right or wrong
	Unsupported          // the device or its program cannot do it
	NotRun               // the tester cannot do it here; Detail says why
	Inconclusive         // the own link lost packets, or a repetition gave another result
	Verdicts             // number of verdicts
)

func (v Verdict) String() string {
	return [...]string{"pass", "fail", "warn", "unclear", "observed", "unsupported", "not run", "inconclusive",
		"?"}[min(v, Verdicts)]
}

// Value is a measurement of a case.
type Value struct {
	Name    string
	Unit    string
	Samples []float64
}
