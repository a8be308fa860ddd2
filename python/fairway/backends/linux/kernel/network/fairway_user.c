// SPDX-License-Identifier: GPL-2.0
/* Loads the library of Fairway's network into the process, and calls it. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <init.h>
#include "fairway.h"

static struct {
	void *(*open)(const char *directory, unsigned int version);
	unsigned int (*devices)(void *network);
	unsigned long long (*begin)(void *network, unsigned long long begin_ns);
	long long (*send)(void *network, unsigned long long now_ns, const unsigned char *bytes,
			  unsigned int length);
	unsigned long long (*advance)(void *network, unsigned long long now_ns);
	unsigned long long (*next)(void *network);
	bool (*is_well)(void *network);
	bool (*outcome)(void *network, struct fairway_outcome *outcome);
	bool (*finish)(void *network, unsigned long long now_ns);
} library;

static void *network;

static void *symbol(void *opened, const char *name)
{
	void *found = dlsym(opened, name);

	if (!found) {
		fprintf(stderr, "fairway: %s\n", dlerror());
		exit(1);
	}
	return found;
}

/* The run directory, with the library in it. Runs on the process's own stack, before the kernel. */
static int __init fairway_setup(char *directory, int *add)
{
	char path[4096];
	void *opened;

	*add = 0;
	if (snprintf(path, sizeof(path), "%s/network.so", directory) >= (int)sizeof(path)) {
		fprintf(stderr, "fairway: the run directory has too long a name\n");
		exit(1);
	}
	opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!opened) {
		fprintf(stderr, "fairway: %s\n", dlerror());
		exit(1);
	}
	library.open = symbol(opened, "fairway_network_open");
	library.devices = symbol(opened, "fairway_network_devices");
	library.begin = symbol(opened, "fairway_network_begin");
	library.send = symbol(opened, "fairway_network_send");
	library.advance = symbol(opened, "fairway_network_advance");
	library.next = symbol(opened, "fairway_network_next");
	library.is_well = symbol(opened, "fairway_network_is_well");
	library.outcome = symbol(opened, "fairway_network_outcome");
	library.finish = symbol(opened, "fairway_network_finish");
	network = library.open(directory, FAIRWAY_VERSION);
	if (!network) {
		fprintf(stderr, "fairway: no network; the file `error` of the run directory says why\n");
		exit(1);
	}
	return 0;
}

__uml_setup("fairway.network=", fairway_setup,
"fairway.network=<directory>\n"
"    Connects hosts by the network that network.json in the directory\n"
"    describes, which network.so in the directory simulates.\n\n"
);

unsigned int fairway_devices(void)
{
	return network ? library.devices(network) : 0;
}

unsigned long long fairway_begin(unsigned long long begin_ns)
{
	return library.begin(network, begin_ns);
}

long long fairway_send(unsigned long long now_ns, const unsigned char *bytes, unsigned int length)
{
	return library.send(network, now_ns, bytes, length);
}

unsigned long long fairway_advance(unsigned long long now_ns)
{
	return library.advance(network, now_ns);
}

unsigned long long fairway_next(void)
{
	return library.next(network);
}

int fairway_is_well(void)
{
	return library.is_well(network);
}

int fairway_take_outcome(struct fairway_outcome *outcome)
{
	return library.outcome(network, outcome);
}

int fairway_finish(unsigned long long now_ns)
{
	return library.finish(network, now_ns);
}
