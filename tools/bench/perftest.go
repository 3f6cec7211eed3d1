package bench

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/internal/histogram"
)

// mebibyte is the unit that perftest calls MB or MiB, in bits.
const mebibyte = 8 << 20

var (
	// perftestColumns splits the head of perftest's table: names contain single spaces, more
	// separate them.
	perftestColumns = regexp.MustCompile(`\s{2,}|\t`)
	// perftestTime matches a line of the output of -H: a number and half of a round trip.
	perftestTime = regexp.MustCompile(`(?m)^\d+, ([0-9.e+-]+)$`)
)

// parsePerftest parses the output of a perftest client: a table with one row, preceded, with -H,
// by the time of each message.
func parsePerftest(m Metric, out []byte) (Measured, error) {
	row, err := perftestRow(string(out))
	if err != nil {
		return Measured{}, fmt.Errorf("the result of perftest: %w", err)
	}
	switch m {
	case Bandwidth:
		for _, name := range []string{"BW average[MB/sec]", "BW average[MiB/sec]"} {
			if v, ok := row[name]; ok {
				return Measured{Value: v * mebibyte / 1e9}, nil
			}
		}
	case MessageRate:
		if v, ok := row["MsgRate[Mpps]"]; ok {
			return Measured{Value: v}, nil
		}
	case Latency:
		if v, ok := row["t_avg[usec]"]; ok {
			times := histogram.New()
			for _, t := range perftestTime.FindAllSubmatch(out, -1) {
				us, err := strconv.ParseFloat(string(t[1]), 64)
				if err != nil {
					return Measured{}, fmt.Errorf("a time of perftest's: %w", err)
				}
				times.Add(us, 1)
			}
			return Measured{Value: v, Bars: times.Bars()}, nil
		}
	}
	return Measured{}, wrongMetric("this run of perftest", m)
}

// perftestRow returns the last row of the last table by column names. The head may occur twice:
// before and after the times. A clock that stands still gives "inf" and "-nan", which are not
// results.
func perftestRow(out string) (map[string]float64, error) {
	var names []string
	var row map[string]float64
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#bytes"); ok {
			names = append([]string{"bytes"}, perftestColumns.Split(strings.TrimSpace(rest), -1)...)
			continue
		}
		fields := strings.Fields(line)
		if names == nil || len(fields) != len(names) {
			continue
		}
		values := map[string]float64{}
		for i, f := range fields {
			if v, err := strconv.ParseFloat(f, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
				values[names[i]] = v
			}
		}
		if _, ok := values["bytes"]; ok {
			row = values
		}
	}
	if row == nil {
		return nil, errors.New("there is no table with a row")
	}
	return row, nil
}
