package bench

// turn is one measurement to be made.
type turn struct {
	round, contest, contender int
}

// plan returns the measurements of so many rounds in their order. Each round has all of them, contest by contest, so that what
// is compared runs within seconds; whoever began a contest is last in it in the next round, so that nobody always runs behind
// the same other.
func plan(contests []Contest, rounds int) []turn {
	var out []turn
	for round := range rounds {
		for c := range contests {
			n := len(contests[c].Contenders)
			for i := range n {
				out = append(out, turn{round, c, (i + round) % n})
			}
		}
	}
	return out
}
