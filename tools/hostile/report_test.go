package hostile

import "testing"

// kept returns a round in which the good pair keeps the given share of its throughput beside the
// control.
func kept(share float64) Round {
	var r Round
	r.Quiet.Good, r.Control.Good, r.Hostile.Good = 100, 100, 100*share
	return r
}

func TestMoreRoundsAreMadeWhereTheGoodPairSeemsToKeepTooLittle(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   int
		shares []float64 // of the rounds, in order
		want   int       // rounds
		broken bool
	}{
		{"enough at once", 10000, []float64{0.7, 0.9, 0.95}, 3, false},
		{"less by chance", 10000, []float64{0.7, 0.75, 0.82, 0.82, 0.82}, 5, false},
		{"less always", 10000, []float64{0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7}, 9, true},
		{"at full rate half is enough", 0, []float64{0.5, 0.6, 0.7}, 3, false},
	} {
		o := &Options{Rounds: 3, Min: 0.8, MinFull: 0.5}
		r := Result{Rate: c.rate}
		for r.wantsRound(o) {
			if len(r.Rounds) == len(c.shares) {
				t.Errorf("%s: it wants more than %d rounds", c.name, c.want)
				break
			}
			r.Rounds = append(r.Rounds, kept(c.shares[len(r.Rounds)]))
		}
		r.summarize()
		if r.judge(o); len(r.Rounds) != c.want || len(r.Broken) > 0 != c.broken {
			t.Errorf("%s: %d rounds, %q", c.name, len(r.Rounds), r.Broken)
		}
	}
}
