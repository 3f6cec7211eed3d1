package netdev

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// linkMessage is the data of RTM_NEWLINK or RTM_DELLINK.
func linkMessage(family uint8, index int32, name string) []byte {
	info := nl.NewIfInfomsg(int(family))
	info.Index = index
	return append(info.Serialize(), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)).Serialize()...)
}

func addrMessage(index uint32) []byte {
	m := nl.NewIfAddrmsg(unix.AF_INET)
	m.Index = index
	return m.Serialize()
}

func TestMessagesThatConcernAWatcher(t *testing.T) {
	for _, c := range []struct {
		name    string
		device  string
		index   int64
		looking bool
		typ     uint16
		data    []byte
		want    bool
		dead    bool
	}{
		{"an address of the interface", "eth0", 4, false, unix.RTM_NEWADDR, addrMessage(4), true, false},
		{"an address of another", "eth0", 4, false, unix.RTM_DELADDR, addrMessage(5), false, false},
		{"an address while no interface is known", "eth0", 0, false, unix.RTM_NEWADDR, addrMessage(5), true, false},
		{"an address of another while it looks", "eth0", 4, true, unix.RTM_NEWADDR, addrMessage(5), true, false},
		{"any address where one is watched", "192.0.2.1", 4, false, unix.RTM_NEWADDR, addrMessage(5), true, false},
		{"the interface changes", "eth0", 4, false, unix.RTM_NEWLINK, linkMessage(0, 4, "eth0"), true, false},
		{"it gets another name", "eth0", 4, false, unix.RTM_NEWLINK, linkMessage(0, 4, "eth1"), true, false},
		{"another gets its name", "eth0", 4, false, unix.RTM_NEWLINK, linkMessage(0, 5, "eth0"), true, false},
		{"another changes", "eth0", 4, false, unix.RTM_NEWLINK, linkMessage(0, 5, "eth1"), false, false},
		{"the interface is deleted", "eth0", 4, false, unix.RTM_DELLINK, linkMessage(0, 4, "eth0"), true, true},
		{"that of the address is deleted", "192.0.2.1", 4, false, unix.RTM_DELLINK,
			linkMessage(0, 4, "eth0"), true, true},
		{"it is deleted while it looks", "eth0", 0, true, unix.RTM_DELLINK, linkMessage(0, 4, "eth0"), true, true},
		{"one of that name is deleted that was there before", "eth0", 4, false, unix.RTM_DELLINK,
			linkMessage(0, 3, "eth0"), true, false},
		{"another is deleted", "eth0", 4, false, unix.RTM_DELLINK, linkMessage(0, 5, "eth1"), false, false},
		{"it leaves a bridge", "eth0", 4, false, unix.RTM_DELLINK, linkMessage(unix.AF_BRIDGE, 4, "eth0"),
			false, false},
		{"cut short", "eth0", 4, false, unix.RTM_NEWLINK, []byte{0, 0, 0}, false, false},
		{"an address cut short", "eth0", 4, false, unix.RTM_NEWADDR, []byte{0, 0, 0}, false, false},
		{"attributes cut short", "eth0", 4, false, unix.RTM_NEWLINK, linkMessage(0, 5, "eth0")[:unix.SizeofIfInfomsg+5],
			false, false},
		{"a route", "eth0", 4, false, unix.RTM_NEWROUTE, linkMessage(0, 4, "eth0"), false, false},
	} {
		w := newWatcher(c.device)
		w.index.Store(c.index)
		w.looking.Store(c.looking)
		if got := w.concerns(c.typ, c.data); got != c.want {
			t.Errorf("%s: concerns is %v", c.name, got)
		}
		if dead := w.deletions.Load() > 0; dead != c.dead {
			t.Errorf("%s: counts as the end of the interface: %v", c.name, dead)
		}
	}
}

// told reports whether a change is pending.
func (w *Watcher) told() bool {
	select {
	case <-w.changes:
		return true
	default:
		return false
	}
}

func TestLostMessagesAreAReasonToLook(t *testing.T) {
	message := func(index uint32) []syscall.NetlinkMessage {
		return []syscall.NetlinkMessage{{Header: syscall.NlMsghdr{Type: unix.RTM_NEWADDR}, Data: addrMessage(index)}}
	}
	for _, c := range []struct {
		name     string
		messages []syscall.NetlinkMessage
		pid      uint32
		err      error
		want     bool
	}{
		{"lost messages", nil, 0, unix.ENOBUFS, true},
		{"a message that cannot be read", nil, 0, unix.EINVAL, true},
		{"one of ours", message(4), 0, nil, true},
		{"two, one of which is ours", slices.Concat(message(5), message(4)), 0, nil, true},
		{"one of another", message(5), 0, nil, false},
		{"one of ours that the kernel did not send", message(4), 77, nil, false},
	} {
		w := newWatcher("eth0")
		w.index.Store(4)
		calls := 0
		w.listen(func() ([]syscall.NetlinkMessage, *unix.SockaddrNetlink, error) {
			if calls++; calls == 1 {
				return c.messages, &unix.SockaddrNetlink{Pid: c.pid}, c.err
			}
			return nil, nil, net.ErrClosed
		})
		if got := w.told(); got != c.want || calls != 2 {
			t.Errorf("%s: told is %v after %d calls", c.name, got, calls)
		}
	}
	w, calls := newWatcher("eth0"), 0
	w.listen(func() ([]syscall.NetlinkMessage, *unix.SockaddrNetlink, error) { calls++; return nil, nil, unix.EIO })
	if calls != maxFailures {
		t.Errorf("an error that does not go away is met %d times, want %d", calls, maxFailures)
	}
}

func TestFlagsOfAnAddress(t *testing.T) {
	for flags, want := range map[int]error{
		0:                    nil,
		unix.IFA_F_PERMANENT: nil,
		unix.IFA_F_TEMPORARY: nil,
		unix.IFA_F_TENTATIVE: ErrTentative,
		unix.IFA_F_TENTATIVE | unix.IFA_F_OPTIMISTIC:                       nil,
		unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED | unix.IFA_F_PERMANENT: ErrDuplicate,
		unix.IFA_F_DEPRECATED:                        ErrDeprecated,
		unix.IFA_F_DEPRECATED | unix.IFA_F_TENTATIVE: ErrTentative,
	} {
		if got := flawOf(flags); !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("flags %#x: %v, want %v", flags, got, want)
		}
	}
}

func TestLookingAtTheLoopbackInterface(t *testing.T) {
	for _, c := range []struct {
		device, name string
		addr         string // "" for none
	}{
		{"lo", "lo", "127.0.0.1"},
		{"127.0.0.1", "lo", "127.0.0.1"},
		{"127.9.8.7", "lo", "127.9.8.7"},
		{"nosuch0", "", ""},
		{"a name that is too long for any interface of this host", "", ""},
		{"203.0.113.77", "", ""},
		{"fe80::77%nosuch0", "", ""},
	} {
		w, err := Watch(c.device)
		if err != nil {
			t.Fatal(err)
		}
		st, err := w.Look()
		w.Close()
		if err != nil || st.Name != c.name {
			t.Errorf("%s: %+v, %v", c.device, st, err)
			continue
		}
		if c.addr == "" {
			if len(st.Addrs) != 0 || st.SetUp {
				t.Errorf("%s: %+v, want nothing", c.device, st)
			}
			continue
		}
		if !slices.ContainsFunc(st.Addrs, func(a Addr) bool { return a.Addr.String() == c.addr && a.Unusable == nil }) {
			t.Errorf("%s: the addresses are %v, without %s", c.device, st.Addrs, c.addr)
		}
		if ifc, err := net.InterfaceByName("lo"); err != nil || ifc.MTU != st.MTU || ifc.Index != st.Index ||
			st.SetUp != (ifc.Flags&net.FlagUp != 0) {
			t.Errorf("%s: %+v, package net says %+v, %v", c.device, st, ifc, err)
		}
	}
}
