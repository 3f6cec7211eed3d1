import socket
import sys


def unsupported(why):
    print(why, flush=True)
    sys.exit(127)


try:
    import pyverbs.enums as e
    from pyverbs.addr import AHAttr, GID, GlobalRoute
    from pyverbs.cq import CQ
    from pyverbs.device import Context, get_device_list
    from pyverbs.pd import PD
    from pyverbs.pyverbs_error import PyverbsError
    from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
except ImportError as x:
    unsupported(f'pyverbs: {x}')

op, host, port, name, index, timeout = sys.argv[1:]
bit, what = {'flush': (38, 'FLUSH'), 'atomic-write': (40, 'ATOMIC_WRITE')}[op]
if not hasattr(QPEx, 'wr_' + what.lower()):
    unsupported(f'this version of pyverbs has no {what}')
ctx = Context(name=get_device_list()[0].name.decode() if name == '-' else name)
if not ctx.query_device_ex().device_cap_flags_ex >> bit & 1:
    unsupported(f'the device has no {what}')
cq = CQ(ctx, 16)
pd = PD(ctx)
init = QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, pd=pd,
                    cap=QPCap(max_send_wr=4, max_recv_wr=1, max_send_sge=1, max_recv_sge=1),
                    comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                    send_ops_flags=getattr(e, 'IBV_QP_EX_WITH_' + what))
try:
    qp = QPEx(ctx, init)
except PyverbsError as x:
    unsupported(f'queue pair: {x}')

line = socket.create_connection((host, int(port))).makefile('rw')
psn = qp.qp_num * 2654435761 >> 5 & 0xffffff
print(qp.qp_num, psn, file=line, flush=True)
qpn, peer, key, addr, gid = line.readline().split()
a = QPAttr(port_num=1)
a.qp_access_flags = e.IBV_ACCESS_LOCAL_WRITE
qp.to_init(a)
a.path_mtu, a.dest_qp_num, a.rq_psn, a.sq_psn = e.IBV_MTU_1024, int(qpn), int(peer), psn
a.max_rd_atomic, a.max_dest_rd_atomic, a.min_rnr_timer = 4, 4, 12
a.timeout, a.retry_cnt, a.rnr_retry = int(timeout), 7, 7
route = GlobalRoute(dgid=GID(gid), sgid_index=int(index), hop_limit=64)
a.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
qp.to_rts(a)
print('ready', file=line, flush=True)
if not line.readline():
    sys.exit(1)
qp.wr_start()
qp.wr_id, qp.wr_flags = 1, e.IBV_SEND_SIGNALED
if op == 'flush':
    qp.wr_flush(int(key), int(addr), 64, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_RANGE)
else:
    qp.wr_atomic_write(int(key), int(addr), b'atomical')
qp.wr_complete()
n = 0
while not n:
    n, done = cq.poll()
status = done[0].status
print(f'Failed status {status}' if status else '1 message is complete', flush=True)
line.readline()
