# mapbalance: `make help` lists the targets.
# can override
prefix     ?= /usr/local
sysconfdir ?= $(prefix)/etc
libexecdir ?= $(prefix)/libexec
bindir     ?= $(prefix)/bin
sbindir    ?= $(prefix)/sbin
mandir     ?= $(prefix)/share/man
docdir     ?= $(prefix)/share/doc/mapbalance
completionsdir ?= $(prefix)/share/bash-completion/completions
cgibindir  ?= $(prefix)/lib/cgi-bin
BUILD      ?= build
INSTALL    ?= install
CXXFLAGS   ?= -O2 -g
UNIT       ?= $(wildcard tests/unit/*_test.cc)
JOBS       ?= -j$(shell nproc)

# required (kept apart so that a packager's CXXFLAGS never loses them)
VERSION := 0.1
OUR_CPPFLAGS := -I. -I$(BUILD)/gen -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -DSYSCONFDIR='"$(sysconfdir)"'
OUR_CXXFLAGS := -std=c++20 -pthread -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast \
                -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wimplicit-fallthrough $(WERROR)
COMPILE = $(CXX) $(OUR_CPPFLAGS) $(CPPFLAGS) $(OUR_CXXFLAGS) $(CXXFLAGS) $(SANITIZE)
LINK    = $(QUIET)$(CXX) -pthread $(CXXFLAGS) $(SANITIZE) $(LDFLAGS) $(STATIC) -o $@ $^ $(LDLIBS)

# V=1 shows the commands
QUIET   = $(if $(V),,@echo '  $@';)

# One archive a room, listed from the top floor down: the linker takes from each only what a program needs.
rooms  := balance/ctl balance/forms balance/relay balance/front balance/watch balance/table balance/pool balance/ground loadprobe loadprobe/base
archive = $(patsubst %,$(BUILD)/lib/%.a,$(subst /,-,$(1)))
sources = $(filter-out %_main.cc,$(wildcard $(1)/*.cc))
objs    = $(patsubst %.cc,$(BUILD)/%.o,$(1))

programs := $(addprefix $(BUILD)/bin/,balance balance-relay poolwatch loadprobe balancectl)
testers  := $(BUILD)/tests/unit_tests $(BUILD)/tests/policy_stdio $(patsubst %.cc,$(BUILD)/%,$(wildcard tests/stress/*.cc))
pages    := $(patsubst templates/reply/%,$(BUILD)/gen/reply/%.inc,$(wildcard templates/reply/*))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all FORCE
all: $(programs)  ## build the programs into build/bin

$(BUILD)/%.o: %.cc $(BUILD)/flags | $(pages)
	@mkdir -p $(@D)
	$(QUIET)$(COMPILE) $(UNHURRIED) -MMD -MP -c -o $@ $<
# Unit tests take longer to compile than to run: without optimizing, a third of the time.
$(BUILD)/tests/unit/%.o: UNHURRIED = -O0 -g1
$(BUILD)/flags: FORCE  # changes only when the command does, so new flags rebuild
	@mkdir -p $(@D); echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@
# The bodies of our own replies, as string literals that balance/ground/pages.cc includes.
$(BUILD)/gen/reply/%.inc: templates/reply/%
	@mkdir -p $(@D); { printf 'R"__page('; cat $<; printf ')__page"\n'; } > $@

define room
$(call archive,$(1)): $(call objs,$(call sources,$(1)))
	@mkdir -p $$(@D); $$(RM) $$@; $$(AR) rcs $$@ $$^
endef
$(foreach r,$(rooms),$(eval $(call room,$(r))))

BOOST := -lboost_program_options
$(BUILD)/bin/balance:    $(BUILD)/balance/balance_main.o    $(call archive,balance/front balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/balance:    LDLIBS += -lfcgi $(BOOST)
# As a CGI program it starts once a request, and half of that time would be the dynamic linker's; what nobody calls costs page faults.
$(BUILD)/bin/balance:    STATIC = $(if $(SANITIZE),,$(shell echo 'int main() {}' | $(CXX) $(CXXFLAGS) -x c++ - -static-pie -o /dev/null $(LDLIBS) 2>/dev/null && \
                           echo -static-pie -Wl,--gc-sections || echo 'balance: no static archives of $(LDLIBS) and the C library: linked dynamically, its start takes longer' >&2))
$(BUILD)/bin/balance-relay: $(BUILD)/balance/balance_relay_main.o $(call archive,balance/relay balance/front balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/balance-relay: LDLIBS += -lfcgi -lcurl $(BOOST)
$(BUILD)/bin/poolwatch:  $(BUILD)/balance/poolwatch_main.o  $(call archive,balance/watch balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/poolwatch:  LDLIBS += -lcurl $(BOOST)
$(BUILD)/bin/balancectl: $(BUILD)/balance/balancectl_main.o $(call archive,balance/ctl balance/forms balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/balancectl: LDLIBS += -lgumbo $(BOOST)
$(BUILD)/bin/loadprobe:  $(BUILD)/loadprobe/loadprobe_main.o $(call archive,loadprobe loadprobe/base)
$(BUILD)/bin/loadprobe:  LDLIBS += -lmicrohttpd $(BOOST)
$(BUILD)/tests/unit_tests: $(call objs,$(UNIT)) $(call archive,$(rooms))
$(BUILD)/tests/unit_tests: LDLIBS += -lgtest -lgtest_main -lfcgi -lcurl -lmicrohttpd -lgumbo $(BOOST)
$(BUILD)/tests/policy_stdio: $(BUILD)/tests/sim/policy_stdio.o $(call archive,balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/tests/policy_stdio: LDLIBS += $(BOOST)
$(BUILD)/tests/stress/%: $(BUILD)/tests/stress/%.o $(call archive,balance/table balance/pool balance/ground loadprobe loadprobe/base)
	@mkdir -p $(@D)
	$(LINK)
benches := $(addprefix $(BUILD)/tests/bench/,bare starts choice)
$(BUILD)/tests/bench/bare: tests/bench/bare.c
	@mkdir -p $(@D)
	$(QUIET)$(CC) -O2 -Wall -o $@ $< -lfcgi -pthread
$(BUILD)/tests/bench/starts: $(BUILD)/tests/bench/starts.o
$(BUILD)/tests/bench/choice: $(BUILD)/tests/bench/choice.o $(call archive,balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/tests/bench/choice: LDLIBS += $(BOOST)
$(BUILD)/tests/bench/starts $(BUILD)/tests/bench/choice:
	@mkdir -p $(@D)
	$(LINK)
fuzzers := $(patsubst %.cc,$(BUILD)/%,$(wildcard tests/fuzz/*.cc))
$(fuzzers): $(BUILD)/%: $(BUILD)/%.o $(call archive,balance/front balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(fuzzers): LDLIBS += -fsanitize=fuzzer $(BOOST)
$(programs) $(fuzzers) $(BUILD)/tests/unit_tests $(BUILD)/tests/policy_stdio:
	@mkdir -p $(@D)
	$(LINK)
# --- tests ---
.PHONY: deps deps-demo demo test check full lint tidy format check-format check-asan check-tsan bench install uninstall clean help
deps:  ## install what building and testing need (Debian packages; as root)
	tests/deps.sh full
deps-demo:  ## install what building and the demo need
	tests/deps.sh demo
demo: deps-demo  ## three real MapServer hosts, one balancer; ONCE=1 ends by itself, EVERYWHERE=1 puts a balancer on each host
	$(MAKE) $(JOBS) all
	BUILD=$(BUILD) python3 tests/demo/demo.py $(if $(ONCE),--once) $(if $(EVERYWHERE),--everywhere)
test: deps  ## unit tests, stress, end to end with real servers
	$(MAKE) $(JOBS) all $(testers)
	BUILD=$(BUILD) python3 tests/run.py unit stress e2e
check: test  ## the same as test
test-servers: deps  ## every file of etc/apache, etc/nginx and etc/lighttpd under its web server, with real MapServer hosts: a table
	$(MAKE) $(JOBS) all
	BUILD=$(BUILD) python3 -B tests/servers/matrix.py
.PHONY: test-servers
units:  ## unit and stress tests alone, without installing anything
	$(MAKE) $(JOBS) $(testers)
	BUILD=$(BUILD) python3 tests/run.py unit stress
.PHONY: units
check-asan:  ## unit and stress tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(MAKE) units BUILD=build/asan  CXXFLAGS='-O1 -g -fno-omit-frame-pointer' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' STATIC=
# Threads are in the gateway's crew, the relay, the table's readers and the resolver; the rest has one.
threaded := $(addprefix tests/unit/,$(addsuffix _test.cc,crew front decide table in_flight relay watch_resolver))
check-tsan:  ## unit tests of what has threads, and stress tests, under ThreadSanitizer
	$(MAKE) units UNIT='$(threaded)' BUILD=build/tsan CXXFLAGS='-O1 -g' SANITIZE=-fsanitize=thread STATIC=
fuzz:  ## feed the parsers and the table with damaged input, FUZZ_SECONDS (30) each; with clang
	$(MAKE) $(JOBS) fuzzers BUILD=build/fuzz CXX='$(FUZZ_CXX)' CXXFLAGS='-O1 -g -fno-omit-frame-pointer' STATIC= \
	  SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'
	BUILD=build/fuzz python3 tests/run.py fuzz
FUZZ_CXX ?= clang++
fuzzers: $(fuzzers)
.PHONY: fuzz fuzzers
.PHONY: test-clients clients-qgis
test-clients: $(BUILD)/clients/installed  ## real clients in every mode, from curl to OpenLayers in Chromium; installs them
	tests/deps.sh clients
	$(MAKE) $(JOBS) all
	BUILD=$(BUILD) $(DEBIAN_PYTHON) -B tests/run.py clients
clients-qgis:  ## the same with QGIS, which is large
	tests/deps.sh qgis
	$(MAKE) $(JOBS) all
	BUILD=$(BUILD) $(DEBIAN_PYTHON) -B tests/run.py qgis
# The one that Debian's modules are for.
DEBIAN_PYTHON ?= /usr/bin/python3
$(BUILD)/clients/installed: tests/clients/package.json
	tests/deps.sh clients
	@mkdir -p $(@D)
	cp $< $(@D)
	cd $(@D) && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@
bench: deps  ## what it costs: ratios and shares, beside what is wanted of them
	$(MAKE) $(JOBS) all $(benches)
	BUILD=$(BUILD) python3 -B tests/bench/bench.py; status=$$?; BUILD=$(BUILD) python3 -B tests/bench/relay_bench.py && exit $$status
full: test lint check-asan check-tsan fuzz  ## everything, by hand
	tests/fresh_debian.sh

# --- lint ---
scripts := $(wildcard tests/*.sh tests/*/*.sh) .ci/run
# CHANGED=REV looks with clang-tidy only at the files that differ from REV.
tidied   = $(if $(CHANGED),$(filter $(wildcard balance/*.cc balance/*/*.cc loadprobe/*.cc loadprobe/*/*.cc),$(shell git diff --name-only $(CHANGED))),$(wildcard balance/*.cc balance/*/*.cc loadprobe/*.cc loadprobe/*/*.cc))
lint: check-format  ## floors, manual pages, scripts, clang-tidy
	$(MAKE) $(JOBS) all
	tests/floors.sh $(BUILD)
	tests/man_pages.sh
	tests/words.sh $(BUILD)
	shellcheck $(scripts)
	python3 -m compileall -q tests && find tests -name __pycache__ -prune -exec rm -r {} +
	$(MAKE) tidy
tidy:
	printf '%s\n' $(tidied) | xargs -r -P 2 -I FILE clang-tidy --quiet FILE -- -std=c++20 $(OUR_CPPFLAGS)
formatted = $(wildcard balance/*.h balance/*.cc balance/*/*.h balance/*/*.cc loadprobe/*.h loadprobe/*.cc loadprobe/*/*.h loadprobe/*/*.cc tests/unit/*.cc tests/sim/*.cc tests/stress/*.cc tests/fuzz/*.h tests/fuzz/*.cc tests/bench/*.cc)
format:  ## let clang-format have its way
	clang-format -i $(formatted)
check-format:
	clang-format --dry-run --Werror $(formatted)

# --- installation ---
install: all  ## into DESTDIR$(prefix); an existing configuration is never overwritten
	$(INSTALL) -d $(addprefix $(DESTDIR),$(libexecdir) $(bindir) $(sbindir) $(cgibindir) $(sysconfdir)/balance $(docdir) $(completionsdir) $(mandir)/man5 $(mandir)/man8)
	$(INSTALL) -m 755 $(addprefix $(BUILD)/bin/,balance balance-relay poolwatch) $(DESTDIR)$(libexecdir)
	$(INSTALL) -m 755 $(BUILD)/bin/loadprobe $(DESTDIR)$(sbindir)
	$(INSTALL) -m 755 $(BUILD)/bin/balancectl $(DESTDIR)$(bindir)
	ln -sf $(libexecdir)/balance $(DESTDIR)$(cgibindir)/balance
	for f in balance.conf loadprobe.conf; do \
	  test -e $(DESTDIR)$(sysconfdir)/balance/$$f || $(INSTALL) -m 644 etc/$$f $(DESTDIR)$(sysconfdir)/balance/$$f; done
	$(INSTALL) -m 644 man/*.5 $(DESTDIR)$(mandir)/man5
	$(INSTALL) -m 644 man/*.8 $(DESTDIR)$(mandir)/man8
	$(INSTALL) -m 644 etc/completions/balancectl $(DESTDIR)$(completionsdir)
	$(INSTALL) -m 644 README.md LICENSE $(DESTDIR)$(docdir)
uninstall:  ## mirror of install; configuration files stay
	$(RM) $(addprefix $(DESTDIR)$(libexecdir)/,balance balance-relay poolwatch) $(DESTDIR)$(sbindir)/loadprobe $(DESTDIR)$(bindir)/balancectl \
	  $(DESTDIR)$(completionsdir)/balancectl $(DESTDIR)$(cgibindir)/balance $(addprefix $(DESTDIR)$(mandir)/man5/,$(notdir $(wildcard man/*.5))) \
	  $(addprefix $(DESTDIR)$(mandir)/man8/,$(notdir $(wildcard man/*.8))) $(addprefix $(DESTDIR)$(docdir)/,README.md LICENSE)

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 16
clean:  ## remove what was built
	$(RM) -r build
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
