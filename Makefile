# mapbalance: `make help` lists the targets.
# can override
prefix     ?= /usr/local
sysconfdir ?= $(prefix)/etc
libexecdir ?= $(prefix)/libexec
bindir     ?= $(prefix)/bin
sbindir    ?= $(prefix)/sbin
mandir     ?= $(prefix)/share/man
docdir     ?= $(prefix)/share/doc/mapbalance
cgibindir  ?= $(prefix)/lib/cgi-bin
BUILD      ?= build
INSTALL    ?= install
CXXFLAGS   ?= -O2 -g
UNIT       ?= $(wildcard tests/unit/*_test.cc)

# required (kept apart so that a packager's CXXFLAGS never loses them)
VERSION := 0.1
OUR_CPPFLAGS := -I. -I$(BUILD)/gen -D_GNU_SOURCE
OUR_CXXFLAGS := -std=c++20 -pthread -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast \
                -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wimplicit-fallthrough $(WERROR)
COMPILE = $(CXX) $(OUR_CPPFLAGS) $(CPPFLAGS) $(OUR_CXXFLAGS) $(CXXFLAGS) $(SANITIZE)
LINK    = $(CXX) -pthread $(CXXFLAGS) $(SANITIZE) $(LDFLAGS) $(STATIC) -o $@ $^ $(LDLIBS)

# One archive a room, listed from the top floor down: the linker takes from each only what a program needs.
base   := loadprobe/base
probe  := loadprobe
rooms  := balance/ctl balance/front balance/watch balance/table balance/pool balance/ground loadprobe loadprobe/base
archive = $(patsubst %,$(BUILD)/lib/%.a,$(subst /,-,$(1)))
sources = $(filter-out %_main.cc,$(wildcard $(1)/*.cc))
objs    = $(patsubst %.cc,$(BUILD)/%.o,$(1))

programs := $(addprefix $(BUILD)/bin/,balance poolwatch loadprobe balancectl)
testers  := $(BUILD)/tests/unit_tests $(BUILD)/tests/policy_stdio $(patsubst %.cc,$(BUILD)/%,$(wildcard tests/stress/*.cc))
pages    := $(patsubst templates/reply/%,$(BUILD)/gen/reply/%.inc,$(wildcard templates/reply/*))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all FORCE
all: $(programs)  ## build the programs into build/bin

$(BUILD)/%.o: %.cc $(BUILD)/flags | $(pages)
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<
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
$(BUILD)/bin/poolwatch:  $(BUILD)/balance/poolwatch_main.o  $(call archive,balance/watch balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/poolwatch:  LDLIBS += -lcurl $(BOOST)
$(BUILD)/bin/balancectl: $(BUILD)/balance/balancectl_main.o $(call archive,balance/ctl balance/table balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/bin/balancectl: LDLIBS += $(BOOST)
$(BUILD)/bin/loadprobe:  $(BUILD)/loadprobe/loadprobe_main.o $(call archive,loadprobe loadprobe/base)
$(BUILD)/bin/loadprobe:  LDLIBS += -lmicrohttpd $(BOOST)
$(BUILD)/tests/unit_tests: $(call objs,$(UNIT)) $(call archive,$(rooms))
$(BUILD)/tests/unit_tests: LDLIBS += -lgtest -lgtest_main -lfcgi -lcurl -lmicrohttpd $(BOOST)
$(BUILD)/tests/policy_stdio: $(BUILD)/tests/sim/policy_stdio.o $(call archive,balance/pool balance/ground loadprobe loadprobe/base)
$(BUILD)/tests/policy_stdio: LDLIBS += $(BOOST)
$(BUILD)/tests/stress/%: $(BUILD)/tests/stress/%.o $(call archive,balance/table balance/pool balance/ground loadprobe loadprobe/base)
	@mkdir -p $(@D)
	$(LINK)
$(programs) $(BUILD)/tests/unit_tests $(BUILD)/tests/policy_stdio:
	@mkdir -p $(@D)
	$(LINK)
clean:  ## remove what was built
	$(RM) -r build
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
