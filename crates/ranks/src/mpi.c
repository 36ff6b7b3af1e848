/* The few functions of MPI that knockout needs, without the types of one MPI library in their signatures: what MPI_Comm or MPI_Request is differs
 * between libraries, and only this file is compiled against one. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Starts MPI for threads that call it one at a time; 0 if it can. */
int knockout_mpi_start(int *rank, int *size) {
    int provided = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return 1;
    if (provided < MPI_THREAD_SERIALIZED) return 2;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return 0;
}

static void copy_text(const char *text, int length, char *out, int capacity) {
    if (length >= capacity) length = capacity - 1;
    memcpy(out, text, (size_t)length);
    out[length] = 0;
}

/* Name and version of the library. */
void knockout_mpi_library(char *out, int capacity) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    copy_text(text, length, out, capacity);
}

/* Name of this machine. */
void knockout_mpi_host(char *out, int capacity) {
    char text[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(text, &length);
    copy_text(text, length, out, capacity);
}

/* Begins to send; what it returns is given to knockout_mpi_is_done until that says so. The bytes must stay where they are until then. */
void *knockout_mpi_send(const uint8_t *bytes, int count, int to) {
    MPI_Request *request = malloc(sizeof *request);
    if (request) MPI_Isend(bytes, count, MPI_BYTE, to, 0, MPI_COMM_WORLD, request);
    return request;
}

/* Begins to receive, in the same way. */
void *knockout_mpi_receive(uint8_t *bytes, int count, int from) {
    MPI_Request *request = malloc(sizeof *request);
    if (request) MPI_Irecv(bytes, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, request);
    return request;
}

/* Whether it is done; then the request is gone. */
int knockout_mpi_is_done(void *request) {
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) free(request);
    return done;
}

void knockout_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void knockout_mpi_leave(void) { MPI_Finalize(); }
