/* Each rank of an MPI job adds an array of 8 MiB to those of the others, three times. */
#include <mpi.h>
#include <stdio.h>

enum { length = 1 << 20 };
static double mine[length], sums[length];

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < length; i++)
		mine[i] = rank + 1;
	for (int n = 0; n < 3; n++) {
		MPI_Allreduce(mine, sums, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < length; i++) {
			if (sums[i] != size * (size + 1) / 2) {
				fprintf(stderr, "rank %d has another sum\n", rank);
				return 1;
			}
		}
	}
	printf("rank %d has the sum\n", rank);
	MPI_Finalize();
	return 0;
}
