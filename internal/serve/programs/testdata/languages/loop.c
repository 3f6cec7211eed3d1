// SENDs a message over a queue pair of type RC that is connected to itself, in the way that the argument names.
// It is C and C++.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			perror(#x); \
			exit(1); \
		} \
	} while (0)

static struct ibv_context *openDevice(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	CHECK(list && n == 1);
	struct ibv_context *c = ibv_open_device(list[0]);
	CHECK(c);
	ibv_free_device_list(list);
	return c;
}

static void toRTS(struct ibv_context *c, struct ibv_qp *qp)
{
	struct ibv_qp_attr a;
	memset(&a, 0, sizeof a);
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = qp->qp_num;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	CHECK(!ibv_query_gid(c, 1, 0, &a.ah_attr.grh.dgid));
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC));
}

static void loop(struct ibv_context *c)
{
	enum { size = 5000 };
	char *buf = (char *)malloc(2 * size);
	memset(buf, 7, size);
	memset(buf + size, 0, size);
	struct ibv_pd *pd = ibv_alloc_pd(c);
	CHECK(pd);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, 2 * size, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	struct ibv_cq *cq = ibv_create_cq(c, 4, NULL, NULL, 0);
	CHECK(cq);
	struct ibv_qp_init_attr init;
	memset(&init, 0, sizeof init);
	init.send_cq = init.recv_cq = cq;
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	CHECK(qp);
	toRTS(c, qp);

	struct ibv_sge from, to;
	from.addr = (uintptr_t)buf, from.length = size, from.lkey = mr->lkey;
	to.addr = (uintptr_t)buf + size, to.length = size, to.lkey = mr->lkey;
	struct ibv_recv_wr recv, *badRecv;
	struct ibv_send_wr send, *badSend;
	memset(&recv, 0, sizeof recv);
	memset(&send, 0, sizeof send);
	recv.sg_list = &to, recv.num_sge = 1;
	send.sg_list = &from, send.num_sge = 1;
	send.opcode = IBV_WR_SEND, send.send_flags = IBV_SEND_SIGNALED;
	CHECK(!ibv_post_recv(qp, &recv, &badRecv));
	CHECK(!ibv_post_send(qp, &send, &badSend));
	for (int done = 0; done < 2;) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(cq, 1, &wc);
		CHECK(n >= 0);
		CHECK(!n || wc.status == IBV_WC_SUCCESS);
		done += n;
	}
	CHECK(!memcmp(buf, buf + size, size));
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	free(buf);
}

static void once(void)
{
	struct ibv_context *c = openDevice();
	loop(c);
	CHECK(!ibv_close_device(c));
}

static void *severalTimes(void *unused)
{
	for (int i = 0; i < 5; i++)
		once();
	return unused;
}

static void threads(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, severalTimes, NULL));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
}

// The device that is open stays the parent's.
static void forks(void)
{
	struct ibv_context *c = openDevice();
	CHECK(!ibv_fork_init());
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (!child) {
			once();
			_exit(0);
		}
		loop(c);
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	CHECK(!ibv_close_device(c));
}

// The provider for rxe has no ibv_import_device, but the command descriptor can be another one.
static void duplicated(void)
{
	struct ibv_context *c = openDevice();
	int fd = dup(c->cmd_fd);
	CHECK(fd >= 0 && !close(c->cmd_fd));
	c->cmd_fd = fd;
	loop(c);
	CHECK(!ibv_close_device(c));
}

static void limit(rlim_t n)
{
	struct rlimit l;
	CHECK(!getrlimit(RLIMIT_NOFILE, &l));
	l.rlim_cur = n;
	CHECK(!setrlimit(RLIMIT_NOFILE, &l));
}

static void manyFiles(void)
{
	limit(4096);
	for (int i = 0; i < 2600; i++)
		CHECK(open("/dev/null", O_RDONLY) >= 0);
	once();
}

// The limit is lower than that with which the program was started.
static void fewFiles(void)
{
	limit(256);
	once();
}

static void closedFiles(void)
{
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	once();
	CHECK(!close_range(3, ~0U, 0));
	once();
}

static void *onceWithoutLeader(void *main)
{
	CHECK(!pthread_join(*(pthread_t *)main, NULL));
	once();
	puts("the message has come back");
	exit(0);
}

// The first thread ends before the device is opened.
static void withoutLeader(void)
{
	static pthread_t self;
	pthread_t other;
	self = pthread_self();
	CHECK(!pthread_create(&other, NULL, onceWithoutLeader, &self));
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "once";
	if (!strcmp(way, "once"))
		once();
	else if (!strcmp(way, "threads"))
		threads();
	else if (!strcmp(way, "fork"))
		forks();
	else if (!strcmp(way, "dup"))
		duplicated();
	else if (!strcmp(way, "files"))
		manyFiles();
	else if (!strcmp(way, "few"))
		fewFiles();
	else if (!strcmp(way, "closed"))
		closedFiles();
	else if (!strcmp(way, "leader"))
		withoutLeader();
	else if (!strcmp(way, "exec")) {
		struct ibv_context *c = openDevice();
		loop(c);
		execl("/proc/self/exe", argv[0], "once", (char *)NULL);
		CHECK(!"exec");
	} else
		return 2;
	puts("the message has come back");
	return 0;
}
