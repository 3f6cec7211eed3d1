#!/usr/bin/python3
"""One end of an operation of ops.json, over pyverbs. The other end is rxelab-verbs, or this program.

The client asks: it tells its queue pair, learns that of the server and a key to the server's memory, performs the steps of the
operation and lets the server look at what came of them. Every round has a queue pair of its own. Messages are JSON, one a line.
"""
import argparse
import json
import os
import random
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR

MTUS = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024, 2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}
REMOTE = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
FLUSH = e.IBV_ACCESS_FLUSH_GLOBAL | e.IBV_ACCESS_FLUSH_PERSISTENT
TYPES = {
    'RC': (e.IBV_QPT_RC, e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_SEND_WITH_IMM | e.IBV_QP_EX_WITH_SEND_WITH_INV |
           e.IBV_QP_EX_WITH_LOCAL_INV | e.IBV_QP_EX_WITH_BIND_MW),
    'UC': (e.IBV_QPT_UC, e.IBV_QP_EX_WITH_SEND_WITH_IMM | e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM),
    'UD': (e.IBV_QPT_UD, e.IBV_QP_EX_WITH_SEND_WITH_IMM),
}
KERNEL_WITH_INVALIDATE = 4
QKEY = 0x11111111
GRH = 40
BEYOND = 4096  # bytes of the region behind what the window opens
PATIENCE = 60.0  # seconds for a completion


def immediate(fill):
    return 0x01020304 + fill


def pattern(n, fill):
    return bytes((i * 7 + (i >> 8) + fill * 13) & 0xff for i in range(n))


class Refusal(Exception):
    """What is not as it should be."""


class End:
    """A queue pair with memory."""

    def __init__(self, args, op):
        self.args, self.op = args, op
        self.ctx = Context(name=args.d)
        self.pd, self.cq = PD(self.ctx), CQ(self.ctx, 64)
        self.datagrams = op.get('type') == 'UD'
        access, (qp_type, sends) = REMOTE, TYPES[op.get('type', 'RC')]
        self.qp_access = REMOTE
        if args.op == 'flush':
            access |= e.IBV_ACCESS_FLUSH_GLOBAL
            sends |= e.IBV_QP_EX_WITH_FLUSH
            self.qp_access |= FLUSH
        elif args.op == 'atomic_write':
            sends |= e.IBV_QP_EX_WITH_ATOMIC_WRITE
        if op['key'] != 'region':
            access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_MW_BIND
        self.mr = MR(self.pd, args.s + BEYOND, access)
        cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=2)
        self.qp = QPEx(self.ctx, QPInitAttrEx(qp_type=qp_type, scq=self.cq, rcq=self.cq, cap=cap, pd=self.pd,
                                              comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                              send_ops_flags=sends))
        self.psn = random.randrange(1 << 24)
        self.window, self.key = None, self.mr.rkey

    def info(self):
        return {'qpn': self.qp.qp_num, 'psn': self.psn, 'gid': str(self.ctx.query_gid(1, self.args.g)),
                'addr': self.mr.buf, 'rkey': self.key}

    def connect(self, peer):
        self.peer = peer
        ah = AHAttr(gr=GlobalRoute(dgid=GID(peer['gid']), sgid_index=self.args.g, hop_limit=64), is_global=1, port_num=1)
        a = QPAttr(port_num=1)
        if self.datagrams:
            a.qkey, a.sq_psn = QKEY, self.psn
            self.qp.to_rts(a)
            self.to = AH(self.pd, attr=ah)
            return
        a.qp_access_flags = self.qp_access
        self.qp.to_init(a)
        a.path_mtu, a.dest_qp_num, a.rq_psn, a.sq_psn = MTUS[self.args.m], peer['qpn'], peer['psn'], self.psn
        a.max_rd_atomic, a.max_dest_rd_atomic, a.min_rnr_timer = 4, 4, 12
        a.timeout, a.retry_cnt, a.rnr_retry = 14, 6, 6
        a.ah_attr = ah
        self.qp.to_rts(a)

    def completion(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            n, wcs = self.cq.poll()
            if n:
                return wcs[0]
        raise Refusal(f'no completion within {PATIENCE} s')

    def post(self, request, sge=True):
        self.qp.wr_start()
        self.qp.wr_id, self.qp.wr_flags = 1, e.IBV_SEND_SIGNALED
        request()
        if sge:
            self.qp.wr_set_sge(SGE(self.mr.buf, self.args.s, self.mr.lkey))
        if self.datagrams:
            self.qp.wr_set_ud_addr(self.to, self.peer['qpn'], QKEY)
        self.qp.wr_complete()

    def must(self, what):
        wc = self.completion()
        if wc.status != e.IBV_WC_SUCCESS:
            raise Refusal(f'{what}: status {wc.status}')
        return wc

    def open(self):
        """Prepares what the client will use."""
        room = [SGE(self.mr.buf, self.args.s, self.mr.lkey)]
        if self.datagrams:
            room.insert(0, SGE(self.mr.buf + self.args.s, GRH, self.mr.lkey))
        self.qp.post_recv(RecvWR(num_sge=len(room), sg=room))
        info = MWBindInfo(self.mr, self.mr.buf, self.args.s, e.IBV_ACCESS_REMOTE_WRITE)
        if self.op['key'] == 'window1':
            self.window = MW(self.pd, e.IBV_MW_TYPE_1)
            self.qp.bind_mw(self.window, MWBind(info, e.IBV_SEND_SIGNALED))
            self.must('bind')
            self.key = self.window.rkey
        elif self.op['key'] == 'window2':
            self.window = MW(self.pd, e.IBV_MW_TYPE_2)
            self.key = self.window.rkey & ~0xff | (self.window.rkey + 1) & 0xff
            self.post(lambda: self.qp.wr_bind_mw(self.window, self.key, info), sge=False)
            self.must('bind')

    def request(self, name, fill):
        """Performs a step of the client and returns its status."""
        addr, key = self.peer['addr'], self.peer['rkey']
        data = pattern(self.args.s, fill)
        self.mr.write(data, self.args.s)
        flush = {'flush_range': (self.args.s, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_RANGE),
                 'flush_region': (0, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_MR),
                 'flush_persistent': (self.args.s, e.IBV_FLUSH_PERSISTENT, e.IBV_FLUSH_RANGE)}
        if name in flush:
            self.post(lambda: self.qp.wr_flush(key, addr, *flush[name]), sge=False)
        elif name in ('write', 'write_outside'):
            self.post(lambda: self.qp.wr_rdma_write(key, addr + (self.args.s + BEYOND if name == 'write_outside' else 0)))
        elif name in ('atomic_write', 'atomic_write_misaligned'):
            self.post(lambda: self.qp.wr_atomic_write(key, addr + (4 if name != 'atomic_write' else 0), data[:8]), sge=False)
        elif name == 'write_imm':
            self.post(lambda: self.qp.wr_rdma_write_imm(key, addr, immediate(fill)))
        elif name == 'send_imm':
            self.post(lambda: self.qp.wr_send_imm(immediate(fill)))
        elif name in ('send_inv', 'send_inv_data'):
            self.post(lambda: self.qp.wr_send_inv(key), sge=name == 'send_inv_data')
        else:
            raise Refusal(f'no step {name}')
        return self.completion().status

    def answer(self, name, fill):
        """Performs a step of the server."""
        if name == 'check':
            if self.mr.read(self.args.s, 0) != pattern(self.args.s, fill):
                raise Refusal('the memory does not hold what was written')
        elif name == 'receive':
            wc = self.must('receive')
            # rxe says it by the kernel's number of the flag, which is not the library's.
            if not wc.wc_flags & (e.IBV_WC_WITH_INV | KERNEL_WITH_INVALIDATE) or wc.imm_data != self.key:
                raise Refusal(f'the receive has flags {wc.wc_flags} and key {wc.imm_data:#x}, want {self.key:#x}')
        elif name == 'receive_imm':
            wc = self.must('receive')
            imm, want = socket.ntohl(wc.imm_data), immediate(fill)  # pyverbs changes the order of what is sent only
            length = self.args.s + (GRH if self.datagrams else 0)
            if not wc.wc_flags & e.IBV_WC_WITH_IMM or imm != want or wc.byte_len != length:
                raise Refusal(f'the receive has flags {wc.wc_flags}, immediate data {imm:#x} and {wc.byte_len} bytes, '
                              f'want {want:#x} and {length}')
        elif name == 'invalidate':
            self.post(lambda: self.qp.wr_local_inv(self.key), sge=False)
            self.must('invalidate')
        else:
            raise Refusal(f'no step {name}')

    def close(self):
        self.qp.close()
        if self.datagrams:
            self.to.close()
        if self.window:
            self.window.close()
        self.mr.close()
        self.cq.close()
        self.pd.close()
        self.ctx.close()


class Line:
    """The TCP connection."""

    def __init__(self, conn):
        self.f = conn.makefile('rw')

    def send(self, message):
        self.f.write(json.dumps(message) + '\n')
        self.f.flush()

    def receive(self):
        text = self.f.readline()
        return json.loads(text) if text else None

    def ask(self, name, fill):
        self.send({'step': name, 'fill': fill})
        answer = self.receive()
        if not answer or answer.get('why'):
            raise Refusal(f'{name}: the server says: {answer and answer["why"]}')


def client(args, op, line):
    for n in range(args.n):
        end = End(args, op)
        line.send(end.info())
        end.connect(line.receive())
        for name, *want in op['steps'] + ([op['refused']] if args.refused else []):
            if not want:
                line.ask(name, n)
                continue
            status = end.request(name, n)
            if status != want[0]:
                raise Refusal(f'round {n}: {name}: status {status}, want {want[0]}')
        line.ask('end', n)
        end.close()
    return args.n


def server(args, op, line):
    rounds = 0
    while (peer := line.receive()) is not None:
        end = End(args, op)
        end.connect(peer)
        end.open()
        line.send(end.info())
        while (m := line.receive()) is not None:
            why = ''
            try:
                if m['step'] != 'end':
                    end.answer(m['step'], m['fill'])
            except Refusal as r:
                why = str(r)
            line.send({'why': why})
            if why:
                raise Refusal(why)
            if m['step'] == 'end':
                rounds += 1
                break
        end.close()
    return rounds


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-d', required=True)
    p.add_argument('-g', type=int, required=True)
    p.add_argument('-p', type=int, required=True)
    p.add_argument('-n', type=int, default=1)
    p.add_argument('-s', type=int, default=4096)
    p.add_argument('-m', type=int, default=1024)
    p.add_argument('-op', required=True)
    p.add_argument('-refused', action='store_true')
    p.add_argument('host', nargs='?')
    args = p.parse_args()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ops.json')) as f:
        op = json.load(f)[args.op]
    try:
        if args.host:
            rounds = client(args, op, Line(socket.create_connection((args.host, args.p))))
        else:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(('', args.p))
            listener.listen(1)
            rounds = server(args, op, Line(listener.accept()[0]))
    except Refusal as r:
        sys.exit(f'verbs_peer: {r}')
    print(f'{args.op}: {rounds} rounds of {args.s} bytes as they should be')


main()
