package uverbs

// A fifo is a queue of records. It allocates only when it grows beyond its previous maximum.
type fifo struct {
	buf  []record // its length is 0 or a power of two
	head int      // index of the oldest record
	n    int
}

// minFIFO is the minimum length of a non-empty buffer.
const minFIFO = 16

func (q *fifo) len() int { return q.n }

func (q *fifo) at(i int) *record { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// grow makes space for one more record.
func (q *fifo) grow() {
	if q.n < len(q.buf) {
		return
	}
	buf := make([]record, max(minFIFO, 2*len(q.buf)))
	for i := range q.n {
		buf[i] = *q.at(i)
	}
	q.buf, q.head = buf, 0
}

func (q *fifo) push(r record) {
	q.grow()
	q.n++
	*q.at(q.n - 1) = r
}

func (q *fifo) pushFront(r record) {
	q.grow()
	q.head = (q.head - 1) & (len(q.buf) - 1)
	q.n++
	*q.at(0) = r
}

// pop removes the oldest record; the queue must not be empty.
func (q *fifo) pop() record {
	r := *q.at(0)
	*q.at(0) = record{}
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
	return r
}

// remove removes all records of a source.
func (q *fifo) remove(s *source) {
	for range q.n {
		if r := q.pop(); r.from != s {
			q.push(r)
		}
	}
}
