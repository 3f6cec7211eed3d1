package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// RunTimes are times from the start of a program to its end.
type RunTimes struct {
	Count  int     `json:"count"`
	Median float64 `json:"median_ms"`
}

// minRuns is the minimum number of starts.
const minRuns = 5

// TimeRuns starts a program repeatedly, each time after the previous one has ended, for the
// given time and at least minRuns times. A failure of the program is an error unless
// anyStatus is set.
func TimeRuns(ctx context.Context, argv []string, during time.Duration, anyStatus bool) (RunTimes, error) {
	var times []float64
	for begin := time.Now(); len(times) < minRuns || time.Since(begin) < during; {
		started := time.Now()
		err := exec.CommandContext(ctx, argv[0], argv[1:]...).Run()
		took := time.Since(started)
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return RunTimes{}, context.Cause(ctx)
		case anyStatus && errors.As(err, &exit):
		case err != nil:
			return RunTimes{}, fmt.Errorf("%s: %w", argv[0], err)
		}
		times = append(times, float64(took)/float64(time.Millisecond))
	}
	return RunTimes{Count: len(times), Median: spread(times).Median}, nil
}

// parseStarts parses the JSON output of the starts command.
func parseStarts(m Metric, out []byte) (Measured, error) {
	if m != StartUp {
		return Measured{}, wrongMetric("the start of a program", m)
	}
	var s RunTimes
	if err := json.Unmarshal(out, &s); err != nil {
		return Measured{}, fmt.Errorf("the times of a program's starts: %w", err)
	}
	if s.Count < 1 {
		return Measured{}, errors.New("a program was not started")
	}
	return Measured{Value: s.Median}, nil
}
