package rdmacore_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

var rdmaCoreSRQ = map[string]func(*testing.T){
	"test_rc_srq_traffic": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{withSRQ: true})
		// A second connection of the same devices takes its receives from the same queues.
		client2, server2 := *client, *server
		connectPlayers(&client2, &server2, verbs.RC)
		traffic(client, server, verbs.WRSend)
		traffic(&client2, &server2, verbs.WRSend)
		traffic(client, server, verbs.WRSendImm)
	},
	"test_resize_srq": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{withSRQ: true})
		want := min(server.dev.Attr().MaxSRQWR, 2*server.srq.Query().MaxWR)
		if err := server.srq.Modify(verbs.SRQAttr{MaxWR: want}, verbs.SRQMaxWR); err != nil {
			t.Fatal(err)
		}
		if got := server.srq.Query().MaxWR; got < want {
			t.Errorf("the queue holds %d after a resize to %d", got, want)
		}
		for range want {
			server.postRecv()
		}
	},
	"test_modify_srq_limit": func(t *testing.T) {
		client, server := newPlayers(t, playerOptions{withSRQ: true})
		for range 10 {
			server.postRecv()
		}
		if err := server.srq.Modify(verbs.SRQAttr{Limit: 7}, verbs.SRQLimit); err != nil {
			t.Fatal(err)
		}
		if got := server.srq.Query().Limit; got != 7 {
			t.Errorf("the limit is %d, 7 was set", got)
		}
		for range 4 {
			client.Post(verbs.WRSend, nil)
			client.want(verbs.WCSuccess)
			server.want(verbs.WCSuccess)
		}
		for {
			e, err := server.dev.Event(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == verbs.EventSRQLimitReached {
				if e.SRQ != server.srq {
					t.Errorf("the event is about %v, want the server's queue", e.SRQ)
				}
				return
			}
		}
	},
}
