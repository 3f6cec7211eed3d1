package nic

// Client is a user of a device: its datagram queue pairs with their multicasts, and its shared receive
// queues with their queue pairs, are in one shard, so that only clients of the same shard wait for them.
type Client struct{ shard *shard }

// NewClient returns a client with a shard that is drawn at random. It needs no end.
func (d *Device) NewClient() *Client { return &Client{d.drawShard()} }

// shardOfClient is the client's shard; that of nil is home.
func (d *Device) shardOfClient(c *Client) *shard {
	if c == nil {
		return d.home()
	}
	return c.shard
}
