package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Spec describes the syntax of [Parse].
const Spec = "drop, duplicate, reorder, corrupt, ecn (1% or 0.01), delay, jitter (2ms), seed (a number)"

// Parse parses a list such as "drop=1%,reorder=0.05,delay=2ms,seed=7", as used in command-line
// flags. The error names the rejected word and the allowed ones.
func Parse(spec string) (Config, error) {
	var c Config
	probabilities := map[string]*float64{
		"drop": &c.Drop, "duplicate": &c.Duplicate, "reorder": &c.Reorder, "corrupt": &c.Corrupt, "ecn": &c.ECNMark,
	}
	times := map[string]*time.Duration{"delay": &c.Delay, "jitter": &c.Jitter}
	for word := range strings.SplitSeq(spec, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(word), "=")
		var err error
		switch p, d := probabilities[name], times[name]; {
		case !ok:
			err = fmt.Errorf("no value")
		case p != nil:
			*p, err = parseProbability(value)
		case d != nil:
			*d, err = parseDelay(value)
		case name == "seed":
			c.Seed, err = strconv.ParseUint(value, 0, 64)
		default:
			err = fmt.Errorf("unknown fault")
		}
		if err != nil {
			return Config{}, fmt.Errorf("fault %q: %w; write for example drop=1%%,delay=2ms, with %s", word, err, Spec)
		}
	}
	return c, nil
}

func parseProbability(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	if percent {
		p /= 100
	}
	if !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("%s is not between 0 and 1, or 0%% and 100%%", s)
	}
	return p, nil
}

func parseDelay(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a time", s)
	case d < 0 || d > time.Minute:
		return 0, fmt.Errorf("%s is not between 0 and 1m", s)
	}
	return d, nil
}
