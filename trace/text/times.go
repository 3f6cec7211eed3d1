package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Times is a format of the time column. All have a resolution of one microsecond.
type Times uint8

const (
	Relative     Times = iota // seconds since the first frame
	Delta                     // seconds since the previous packet in the output; 0 for the first
	Absolute                  // time of day, in the local time zone
	AbsoluteDate              // date and time of day, in the local time zone
	UTC                       // time of day, in UTC
	UTCDate                   // date and time of day, in UTC
	Epoch                     // seconds since 1970-01-01 00:00 UTC
)

// timesNames are the names that tshark has for the formats (option -t in its manual). Its delta
// to the previous packet in the output is dd; d counts packets outside the output too. They are
// the same here.
var timesNames = []struct {
	name  string
	times Times
}{
	{"r", Relative}, {"a", Absolute}, {"ad", AbsoluteDate}, {"d", Delta}, {"dd", Delta}, {"e", Epoch}, {"u", UTC},
	{"ud", UTCDate},
}

// ParseTimes returns the format that tshark calls name: r, a, ad, d, dd, e, u or ud.
func ParseTimes(name string) (Times, error) {
	var names []string
	for _, n := range timesNames {
		if n.name == name {
			return n.times, nil
		}
		names = append(names, n.name)
	}
	return 0, fmt.Errorf("%q is no time format; the formats are %s", name, strings.Join(names, ", "))
}

const (
	dayLayout  = "15:04:05.000000"
	dateLayout = "2006-01-02 " + dayLayout
	epochWidth = len("1700000000.000000")
)

// otherTime writes t in a format except Relative, and "-" if the capture has no time for the
// packet.
func (w *Writer) otherTime(t time.Time) {
	from, width := len(w.b), timeWidth
	layout := ""
	switch w.o.Times {
	case Epoch:
		width = epochWidth
	case Absolute:
		layout, t = dayLayout, t.Local()
	case AbsoluteDate:
		layout, t = dateLayout, t.Local()
	case UTC:
		layout, t = dayLayout, t.UTC()
	case UTCDate:
		layout, t = dateLayout, t.UTC()
	}
	switch {
	case t.IsZero():
		w.s("-")
	case w.o.Times == Delta:
		if w.latest.IsZero() {
			w.latest = t
		}
		w.micros(t.Sub(w.latest).Microseconds())
		w.latest = t
	case layout == "":
		w.micros(t.UnixMicro())
	default:
		w.b = t.AppendFormat(w.b, layout)
	}
	w.right(from, max(width, len(layout)))
}

// micros writes a number of microseconds as seconds with six decimals.
func (w *Writer) micros(us int64) {
	const second = 1_000_000
	abs := uint64(us)
	if us < 0 {
		w.b = append(w.b, '-')
		abs = -abs
	}
	w.u(abs / second)
	w.b = append(w.b, '.')
	at := len(w.b)
	w.b = strconv.AppendUint(w.b, second+abs%second, 10) // with a leading 1
	w.b = append(w.b[:at], w.b[at+1:]...)
}
