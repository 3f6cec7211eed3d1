package verbs

// SetOwner names the client of the context for people who look into the device; see [Device.Owner]. It applies to
// protection domains that are made later.
func (c *Context) SetOwner(name string) { c.owner.Store(&name) }

// Owner returns the name of the client that a protection domain belongs to, by [PD.ID], which [QPInfo] and [MRInfo]
// have. It is empty for domains of contexts without a name.
func (d *Device) Owner(pd uint32) string {
	if name, ok := d.owners.Load(pd); ok {
		return name.(string)
	}
	return ""
}

// own enters a new domain under the name of its client.
func (c *Context) own(pd uint32) {
	if name := c.owner.Load(); name != nil {
		c.dev.owners.Store(pd, *name)
	}
}
