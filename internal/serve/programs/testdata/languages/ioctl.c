// Gets a context of the device by ioctl(2), without libibverbs: for libraries of C for which no rdma-core is packaged.
#include <dirent.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
	DIR *dir = opendir("/sys/class/infiniband_verbs");
	int found = 0;
	for (struct dirent *e; dir && (e = readdir(dir));)
		found += !strcmp(e->d_name, "uverbs0");
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	struct stat st;
	if (!found || fd < 0 || fstat(fd, &st) || !S_ISCHR(st.st_mode)) {
		perror("the device");
		return 1;
	}
	uint32_t vectors = 0;
	struct {
		struct ib_uverbs_ioctl_hdr head;
		struct ib_uverbs_attr attr;
	} cmd;
	memset(&cmd, 0, sizeof cmd);
	cmd.head.length = sizeof cmd;
	cmd.head.object_id = UVERBS_OBJECT_DEVICE;
	cmd.head.method_id = UVERBS_METHOD_GET_CONTEXT;
	cmd.head.num_attrs = 1;
	cmd.head.driver_id = RDMA_DRIVER_RXE;
	cmd.attr.attr_id = UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS;
	cmd.attr.len = sizeof vectors;
	cmd.attr.data = (uintptr_t)&vectors;
	if (ioctl(fd, RDMA_VERBS_IOCTL, &cmd)) {
		perror("GET_CONTEXT");
		return 1;
	}
	printf("%u completion vectors\n", vectors);
	return vectors == 0;
}
