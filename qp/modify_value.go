package qp

// refuseValues refuses values out of range among the attributes that mask selects. It reports
// whether it refused.
func (e *ModifyError) refuseValues(a *Attr, mask AttrMask) bool {
	for _, r := range []struct {
		attr        AttrMask
		name        string
		value       uint64
		least, most uint64
	}{
		{AttrPKeyIndex, "index", uint64(a.PKeyIndex), 0, numPKeys - 1},
		{AttrPort, "port", uint64(a.Port), 1, numPorts},
		{AttrAV, "flow label", uint64(a.AV.FlowLabel), 0, maxFlowLabel},
		{AttrTimeout, "timeout", uint64(a.Timeout), 0, maxTimer},
		{AttrRetryCnt, "count", uint64(a.RetryCnt), 0, maxRetry},
		{AttrRNRRetry, "count", uint64(a.RNRRetry), 0, maxRetry},
		{AttrRQPSN, "PSN", uint64(a.RQPSN), 0, maxPSN},
		{AttrMaxRdAtomic, "number", uint64(a.MaxRdAtomic), 0, MaxRdAtomic},
		{AttrMinRNRTimer, "timer", uint64(a.MinRNRTimer), 0, maxTimer},
		{AttrSQPSN, "PSN", uint64(a.SQPSN), 0, maxPSN},
		{AttrMaxDestRdAtomic, "number", uint64(a.MaxDestRdAtomic), 0, MaxRdAtomic},
		{AttrDestQPN, "QPN", uint64(a.DestQPN), 0, maxQPN},
	} {
		if mask&r.attr != 0 && (r.value < r.least || r.value > r.most) {
			return e.fail(r.attr, "is out of range: %s %d, it must be %d to %d", r.name, r.value, r.least, r.most)
		}
	}
	switch {
	case mask&AttrPathMTU != 0 && !a.PathMTU.Valid():
		return e.fail(AttrPathMTU, "is out of range: %d bytes, it must be 256, 512, 1024, 2048 or 4096", int(a.PathMTU))
	case mask&AttrAV != 0 && a.AV.DGID.IsZero():
		return e.fail(AttrAV, "has the GID ::, which is no address; RoCE needs the peer's GID")
	case mask&AttrAltPath != 0:
		return e.fail(AttrAltPath, "is not supported: RoCE has no alternate paths")
	case mask&AttrMigState != 0 && a.MigState != Migrated:
		return e.fail(AttrMigState, "is out of range: %d, RoCE supports only 0 (MIGRATED)", uint8(a.MigState))
	}
	return false
}

// assign copies the attributes that mask selects.
func (q *Attr) assign(a *Attr, mask AttrMask) {
	set(&q.State, a.State, mask, AttrState)
	set(&q.SQDAsyncNotify, a.SQDAsyncNotify, mask, AttrSQDAsyncNotify)
	set(&q.Access, a.Access, mask, AttrAccess)
	set(&q.PKeyIndex, a.PKeyIndex, mask, AttrPKeyIndex)
	set(&q.Port, a.Port, mask, AttrPort)
	set(&q.QKey, a.QKey, mask, AttrQKey)
	set(&q.AV, a.AV, mask, AttrAV)
	set(&q.PathMTU, a.PathMTU, mask, AttrPathMTU)
	set(&q.Timeout, a.Timeout, mask, AttrTimeout)
	set(&q.RetryCnt, a.RetryCnt, mask, AttrRetryCnt)
	set(&q.RNRRetry, a.RNRRetry, mask, AttrRNRRetry)
	set(&q.RQPSN, a.RQPSN, mask, AttrRQPSN)
	set(&q.MaxRdAtomic, a.MaxRdAtomic, mask, AttrMaxRdAtomic)
	set(&q.MinRNRTimer, a.MinRNRTimer, mask, AttrMinRNRTimer)
	set(&q.SQPSN, a.SQPSN, mask, AttrSQPSN)
	set(&q.MaxDestRdAtomic, a.MaxDestRdAtomic, mask, AttrMaxDestRdAtomic)
	set(&q.MigState, a.MigState, mask, AttrMigState)
	set(&q.DestQPN, a.DestQPN, mask, AttrDestQPN)
}

func set[T any](dst *T, src T, mask, attr AttrMask) {
	if mask&attr != 0 {
		*dst = src
	}
}
