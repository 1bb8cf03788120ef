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
unitdir    ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
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
rooms  := balance/ctl balance/forms balance/perl balance/relay balance/front balance/watch balance/table balance/pool balance/ground loadprobe loadprobe/base
archive = $(patsubst %,$(BUILD)/lib/%.a,$(subst /,-,$(1)))
sources = $(filter-out %_main.cc,$(sort $(wildcard $(1)/*.cc)))
objs    = $(patsubst %.cc,$(BUILD)/%.o,$(1))

programs := $(addprefix $(BUILD)/bin/,balance balance-relay poolwatch loadprobe balancectl)
testers  := $(BUILD)/tests/unit_tests $(BUILD)/tests/policy_stdio $(patsubst %.cc,$(BUILD)/%,$(wildcard tests/stress/*.cc))
pages    := $(patsubst templates/reply/%,$(BUILD)/gen/reply/%.inc,$(filter-out %.css,$(wildcard templates/reply/*)))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all FORCE
all: $(programs)  ## build the programs into build/bin

# PWD is what the compiler writes down as the folder of the build: as it is, another folder gives the same bits.
$(BUILD)/%.o: %.cc $(BUILD)/flags | $(pages)
	@mkdir -p $(@D)
	$(QUIET)PWD=/proc/self/cwd $(COMPILE) $(UNHURRIED) -MMD -MP -c -o $@ $<
# Unit tests take longer to compile than to run: without optimizing, a third of the time.
$(BUILD)/tests/unit/%.o: UNHURRIED = -O0 -g1
$(BUILD)/flags: FORCE  # changes only when the command does, so new flags rebuild
	@mkdir -p $(@D); echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@
# The bodies of our own replies, as string literals that balance/ground/pages.cc includes.
$(BUILD)/gen/reply/%.inc: templates/reply/% templates/reply/style.css
	@mkdir -p $(@D); { printf 'R"__page('; sed -e '/^@style.css@$$/{r templates/reply/style.css' -e 'd}' $<; printf ')__page"\n'; } > $@

define room
$(call archive,$(1)): $(call objs,$(call sources,$(1)))
	@mkdir -p $$(@D); $$(RM) $$@; $$(AR) rcsD $$@ $$^
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
$(BUILD)/bin/balancectl: $(BUILD)/balance/balancectl_main.o $(call archive,balance/ctl balance/forms balance/perl balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/balancectl: LDLIBS += -lgumbo $(BOOST)
$(BUILD)/bin/loadprobe:  $(BUILD)/loadprobe/loadprobe_main.o $(call archive,loadprobe loadprobe/base)
$(BUILD)/bin/loadprobe:  LDLIBS += -lmicrohttpd $(BOOST)
$(BUILD)/tests/unit_tests: $(call objs,$(UNIT)) $(call archive,$(rooms))
$(BUILD)/tests/unit_tests: LDLIBS += -lgtest -lgtest_main -lfcgi -lcurl -lmicrohttpd -lgumbo $(BOOST)
$(BUILD)/tests/policy_stdio: $(BUILD)/tests/sim/policy_stdio.o $(call archive,balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/tests/policy_stdio: LDLIBS += $(BOOST)
$(BUILD)/tests/stress/%: LDLIBS += $(BOOST)
$(BUILD)/tests/stress/%: $(BUILD)/tests/stress/%.o $(call archive,balance/front balance/table balance/pool balance/ground loadprobe loadprobe/base)
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
$(fuzzers): $(BUILD)/%: $(BUILD)/%.o $(call archive,balance/perl balance/front balance/table balance/pool balance/ground loadprobe loadprobe/base)
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
threaded := $(addprefix tests/unit/,$(addsuffix _test.cc,crew front decide table table_truncation in_flight relay relay_broken relay_elsewhere relay_shared watch_resolver))
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
full: test lint check-asan check-tsan fuzz check-clang check-reproducible check-package  ## everything, by hand
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
formatted = $(wildcard balance/*.h balance/*.cc balance/*/*.h balance/*/*.cc loadprobe/*.h loadprobe/*.cc loadprobe/*/*.h loadprobe/*/*.cc tests/unit/*.h tests/unit/*.cc tests/sim/*.cc tests/stress/*.cc tests/fuzz/*.h tests/fuzz/*.cc tests/bench/*.cc)
format:  ## let clang-format have its way
	clang-format -i $(formatted)
check-format:
	clang-format --dry-run --Werror $(formatted)

# --- installation ---
# Files for other programs name the places of the default prefix; installed, they name those where things went.
localized = sed -e 's|/usr/local/etc/|$(sysconfdir)/|g' -e 's|/usr/local/libexec/|$(libexecdir)/|g' -e 's|/usr/local/lib/cgi-bin/|$(cgibindir)/|g' \
  -e 's|/usr/local/sbin/|$(sbindir)/|g' -e 's|/usr/local/bin/|$(bindir)/|g' -e 's|/usr/local/share/doc/mapbalance/|$(docdir)/|g'
units     := $(wildcard etc/systemd/*.service etc/systemd/*.socket)
web_servers := apache nginx lighttpd
# NAME:FOLDER of what is copied with its paths made right.
copied    := $(foreach w,$(web_servers),$(foreach f,$(wildcard etc/$(w)/*.conf),$(f):$(docdir)/$(w))) $(foreach f,$(units),$(f):$(unitdir)) $(foreach f,$(wildcard man/*.5),$(f):$(mandir)/man5) \
  $(foreach f,$(wildcard man/*.8),$(f):$(mandir)/man8) etc/completions/balancectl:$(completionsdir) README.md:$(docdir) LICENSE:$(docdir)
configurations := balance.conf loadprobe.conf
install: all  ## into DESTDIR$(prefix); an existing configuration is never overwritten
	$(INSTALL) -d $(addprefix $(DESTDIR),$(sort $(libexecdir) $(bindir) $(sbindir) $(cgibindir) $(sysconfdir)/balance $(sysusersdir) $(tmpfilesdir) \
	  $(foreach c,$(copied),$(lastword $(subst :, ,$(c))))))
	$(INSTALL) -m 755 $(addprefix $(BUILD)/bin/,balance balance-relay poolwatch) $(DESTDIR)$(libexecdir)
	$(INSTALL) -m 755 $(BUILD)/bin/loadprobe $(DESTDIR)$(sbindir)
	$(INSTALL) -m 755 $(BUILD)/bin/balancectl $(DESTDIR)$(bindir)
	ln -sf $(libexecdir)/balance $(DESTDIR)$(cgibindir)/balance
	set -e; for c in $(copied); do f=$${c%%:*}; to=$(DESTDIR)$${c#*:}/$${f##*/}; $(localized) $$f > "$$to"; chmod 644 "$$to"; done
	$(INSTALL) -m 644 etc/systemd/mapbalance.sysusers $(DESTDIR)$(sysusersdir)/mapbalance.conf
	$(INSTALL) -m 644 etc/systemd/mapbalance.tmpfiles $(DESTDIR)$(tmpfilesdir)/mapbalance.conf
	set -e; for f in $(configurations); do to=$(DESTDIR)$(sysconfdir)/balance/$$f; test -e "$$to" || $(INSTALL) -m 644 etc/$$f "$$to"; done
uninstall:  ## mirror of install; configuration files that were changed stay
	$(RM) $(addprefix $(DESTDIR)$(libexecdir)/,balance balance-relay poolwatch) $(DESTDIR)$(sbindir)/loadprobe $(DESTDIR)$(bindir)/balancectl \
	  $(DESTDIR)$(cgibindir)/balance $(DESTDIR)$(sysusersdir)/mapbalance.conf $(DESTDIR)$(tmpfilesdir)/mapbalance.conf \
	  $(foreach c,$(copied),$(DESTDIR)$(lastword $(subst :, ,$(c)))/$(notdir $(firstword $(subst :, ,$(c)))))
	for f in $(configurations); do cmp -s etc/$$f $(DESTDIR)$(sysconfdir)/balance/$$f && $(RM) $(DESTDIR)$(sysconfdir)/balance/$$f; done; true
	rmdir $(addprefix $(DESTDIR)$(docdir)/,$(web_servers)) 2>/dev/null; rmdir $(DESTDIR)$(docdir) $(DESTDIR)$(sysconfdir)/balance 2>/dev/null; true
test-install: $(if $(wildcard $(BUILD)/bin/balancectl),,all)  ## what make install, uninstall and dist do, the units, and that a build is the same in another folder
	BUILD=$(BUILD) python3 -B tests/install_test.py
.PHONY: test-install dist deb check-package check-clang check-reproducible

# --- packages ---
release := mapbalance-$(VERSION)
# The date of the last change in every file of the archive, so that the same commit gives the same archive.
dist:  ## build/mapbalance-VERSION.tar.gz of what is committed; it builds and tests without git
	@mkdir -p $(BUILD)
	if git rev-parse --git-dir > /dev/null 2>&1; then git archive --format=tar --prefix=$(release)/ HEAD; else \
	  tar --sort=name --owner=0 --group=0 --numeric-owner --exclude=./$(BUILD) --transform='s|^\.|$(release)|' -c .; fi | gzip -9n > $(BUILD)/$(release).tar.gz
	@echo $(BUILD)/$(release).tar.gz
deb:  ## build/deb/*.deb: loadprobe for every map host, mapbalance for the balancer; lintian looks at them
	tests/deps.sh package
	$(RM) -r $(BUILD)/deb
	$(MAKE) dist
	mkdir -p $(BUILD)/deb
	tar -C $(BUILD)/deb -xf $(BUILD)/$(release).tar.gz
	cp -r $(BUILD)/deb/$(release)/etc/debian $(BUILD)/deb/$(release)/debian
	cd $(BUILD)/deb/$(release) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS='$(DEB_BUILD_OPTIONS)' dpkg-buildpackage -b -us -uc
	lintian --fail-on error $(BUILD)/deb/*.changes
# The tests of a package's build are those that 'make test' has; DEB_BUILD_OPTIONS= runs them there too.
DEB_BUILD_OPTIONS ?= nocheck parallel=$(shell nproc)
check-clang:  ## build everything with clang++, without a warning
	$(MAKE) $(JOBS) all BUILD=build/clang CXX=clang++ WERROR=-Werror
check-reproducible: dist  ## build twice, in two folders, and compare every bit of the programs
	$(RM) -r $(BUILD)/twice && mkdir -p $(BUILD)/twice/1 $(BUILD)/twice/another/2
	for folder in 1 another/2; do tar -C $(BUILD)/twice/$$folder -xf $(BUILD)/$(release).tar.gz && $(MAKE) -C $(BUILD)/twice/$$folder/$(release) $(JOBS) all BUILD=build || exit 1; done
	cd $(BUILD)/twice/1/$(release)/build/bin && sha256sum * | (cd ../../../../another/2/$(release)/build/bin && sha256sum -c)
check-package: deb  ## install the packages in a fresh Debian, draw a map through the balancer, purge, look for what is left
	tests/fresh_package.sh $(BUILD)/deb

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 16
clean:  ## remove what was built
	$(RM) -r build
-include $(shell find $(BUILD)/balance $(BUILD)/loadprobe $(BUILD)/tests -type f -name '*.d' 2>/dev/null)
