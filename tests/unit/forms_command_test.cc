// SPDX-License-Identifier: MIT
// balancectl forms on real files: what is written, what is kept, what is said, and how it ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "balance/forms/child.h"
#include "balance/forms/command.h"
#include "balance/forms/files.h"
#include "balance/forms/rewrite.h"
#include "tests/unit/scratch_dir.h"

namespace balance::forms {
namespace {

namespace fs = std::filesystem;

constexpr char kTo[] = "https://maps.example.org/cgi-bin/mapserv";
constexpr char kPage[] = "<form action=/cgi-bin/mapserv>\n";
constexpr char kDone[] = "<form action=https://maps.example.org/cgi-bin/mapserv>\n";

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

Outcome forms(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = forms_command(arguments, out, err);
  return Outcome{status, out.str(), err.str()};
}

void write(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file.good() ? text.str() : "(none)";
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status;
}

std::map<std::string, std::string> all_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[entry.path().string()] = read(entry.path().string());
  }
  return files;
}

class FormsCommand : public testing::Test {
 protected:
  std::string page(const std::string& name, const std::string& content = kPage) const {
    const auto path = dir_ / name;
    fs::create_directories(fs::path(path).parent_path());
    write(path, content);
    return path;
  }
  ScratchDir dir_;
};

TEST_F(FormsCommand, RewritesAndKeepsTheFirstVersion) {
  const auto path = page("a.html");
  const auto done = forms({"--to", kTo, path});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.out, path + ": 1 URL rewritten, the first version is " + path + ".orig\n");
  EXPECT_EQ(read(path), kDone);
  EXPECT_EQ(read(path + ".orig"), kPage);
}

TEST_F(FormsCommand, ChangesNothingTheSecondTime) {
  for (const auto& entry : fs::directory_iterator("tests/data/forms")) {
    fs::copy_file(entry.path(), dir_ / entry.path().filename().string());
  }
  const auto first = forms({"--to", kTo, "-r", dir_.path()});
  const auto after_first = all_files(dir_.path());
  const auto second = forms({"--to", kTo, "-r", dir_.path()});
  EXPECT_EQ(all_files(dir_.path()), after_first);
  EXPECT_NE(first.out, "");
  EXPECT_EQ(second.out, "");
  EXPECT_EQ(first.status, 1);
  EXPECT_EQ(second.status, 1);
}

TEST_F(FormsCommand, NeverOverwritesAnOriginal) {
  const auto path = page("a.html");
  page("a.html.orig", "mine");
  EXPECT_EQ(forms({"--to", kTo, path}).status, 0);
  EXPECT_EQ(read(path), kDone);
  EXPECT_EQ(read(path + ".orig"), "mine");
}

TEST_F(FormsCommand, ShowsADiffAndWritesNothing) {
  const auto path = page("a.html");
  const auto shown = forms({"--to", kTo, "--dry-run", path});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.out, "--- " + path + "\t\n+++ " + path + "\t\n@@ -1 +1 @@\n-" + kPage + "+" + kDone);
  EXPECT_EQ(all_files(dir_.path()), (std::map<std::string, std::string>{{path, kPage}}));
}

TEST_F(FormsCommand, KeepsModeOwnerAndTheOriginalsAge) {
  const auto path = page("a.html");
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 33, 34), 0);
  }
  const timespec old[2] = {{1000000000, 5}, {1000000000, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  const auto before = status_of(path);
  ASSERT_EQ(forms({"--to", kTo, path}).status, 0);
  for (const auto& name : {path, path + ".orig"}) {
    const auto after = status_of(name);
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_uid, before.st_uid);
    EXPECT_EQ(after.st_gid, before.st_gid);
  }
  EXPECT_EQ(status_of(path + ".orig").st_mtim.tv_sec, 1000000000);
}

TEST_F(FormsCommand, WritesThroughASymbolicLink) {
  const auto target = page("real/a.html");
  fs::create_symlink(target, dir_ / "link.html");
  EXPECT_EQ(forms({"--to", kTo, dir_ / "link.html"}).status, 0);
  EXPECT_TRUE(fs::is_symlink(dir_ / "link.html"));
  EXPECT_EQ(read(target), kDone);
  EXPECT_EQ(read(target + ".orig"), kPage);
}

TEST_F(FormsCommand, NotesAHardLink) {
  const auto path = page("a.html");
  fs::create_hard_link(path, dir_ / "b.txt");
  const auto done = forms({"--to", kTo, path});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.err, path + ": note: is a hard link; its other names keep the old page\n");
  EXPECT_EQ(read(dir_ / "b.txt"), kPage);
}

TEST_F(FormsCommand, LeavesAReadOnlyFileAloneEvenForRoot) {
  const auto path = page("a.html");
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  const auto done = forms({"--to", kTo, path});
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.err, path + ": is read-only, wanted a file that may be written\n");
  EXPECT_EQ(all_files(dir_.path()), (std::map<std::string, std::string>{{path, kPage}}));
}

TEST_F(FormsCommand, GoesOnBehindAFileThatCannotBeRead) {
  const auto path = page("a.html");
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  const auto done = forms({"--to", kTo, dir_ / "absent.html", dir_ / "fifo", dir_.path(), path});
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.err, "cannot open " + (dir_ / "absent.html") + ": No such file or directory\n" + (dir_ / "fifo") +
                          ": is no regular file\n" + dir_.path() + ": is a folder, wanted a file (or -r)\n");
  EXPECT_EQ(read(path), kDone);
}

TEST_F(FormsCommand, WalksFoldersForPages) {
  const auto deep = page("x/y/a.PHP");
  page("x/.git/a.html");
  page("x/a.png");
  fs::create_symlink(deep, dir_ / "x/link.html");
  fs::create_directory_symlink(dir_ / "x", dir_ / "x/loop");
  const auto done = forms({"--to", kTo, "-r", dir_ / "x"});
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.out, deep + ": 1 URL rewritten, the first version is " + deep + ".orig\n");
  EXPECT_EQ(done.err,
            (dir_ / "x/link.html") + ": is a symbolic link, not followed; name it to have its target rewritten\n");
}

TEST_F(FormsCommand, TakesAFileNamedTwiceOnce) {
  const auto path = page("a.html");
  const auto shown = forms({"--to", kTo, "-n", path, path, "-r", dir_.path()});
  EXPECT_EQ(shown.out.find("@@ -"), shown.out.rfind("@@ -"));
}

TEST_F(FormsCommand, SaysWhatItLeftAlone) {
  const auto path = page("a.html", "<p>\n<script>u = '/cgi-bin/mapserv?x'</script>\n");
  const auto done = forms({"--to", kTo, path});
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.err, path + ":2: left alone: JavaScript names the script\n");
}

TEST_F(FormsCommand, ShowsMapfilesAndDoesNotFailForThem) {
  const auto path = page("w.map", "WEB IMAGEURL \"http://pics.example.org/\" END\n");
  const auto done = forms({"--to", kTo, path});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.err.substr(0, path.size() + 10), path + ":1: note: ");
  EXPECT_EQ(read(path), "WEB IMAGEURL \"http://pics.example.org/\" END\n");
}

TEST_F(FormsCommand, TakesPatternsAndHosts) {
  const auto path = page("a.html", "<a href=/cgi-bin/mapserv56><a href=http://o.example.net/cgi-bin/mapserv>\n");
  const auto done = forms({"--to=" + std::string(kTo), "--match=mapserv[0-9]*", "--host=p.example.org", "--", path});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(read(path),
            "<a href=https://maps.example.org/cgi-bin/mapserv><a href=http://o.example.net/cgi-bin/mapserv>\n");
}

TEST_F(FormsCommand, RefusesBadUsage) {
  const auto path = page("a.html");
  const std::vector<std::vector<std::string>> bad = {
      {},
      {path},
      {"--to", kTo},
      {"--to"},
      {"--to", "/cgi-bin/mapserv", path},
      {"--to", "https://maps.example.org", path},
      {"--to", "https://maps.example.org/a'b", path},
      {"--to", "https://maps.example.org/a&b", path},
      {"--to", kTo, "--match", "", path},
      {"--to", kTo, "--match", "cgi-bin/", path},
      {"--to", kTo, "--dry", path},
      {"--to", kTo, "--to", kTo, path},
  };
  for (const auto& arguments : bad) {
    const auto done = forms(arguments);
    EXPECT_EQ(done.status, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find("usage: balancectl forms"), std::string::npos);
  }
  EXPECT_EQ(read(path), kPage);
  EXPECT_EQ(forms({"--help"}).status, 0);
}

TEST_F(FormsCommand, DoesNotReplaceAFileThatChangedMeanwhile) {
  const auto path = page("a.html");
  const auto read_before = read_page(path);
  ASSERT_TRUE(read_before);
  write(path, "edited by a person\n");
  EXPECT_FALSE(replace_page(*read_before, kDone));
  EXPECT_EQ(read(path), "edited by a person\n");
}

TEST(FormsChild, GivesWhatTheWorkReturns) {
  const std::string large(1 << 20, 'x');
  const auto text = in_a_child(Limits{}, [&large] { return large; });
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, large);
}

TEST(FormsChild, SurvivesACrash) {
  const auto text = in_a_child(Limits{}, []() -> std::string { _exit(7); });
  EXPECT_FALSE(text);
  const auto thrown = in_a_child(Limits{}, []() -> std::string { throw 1; });
  EXPECT_FALSE(thrown);
}

// A parser's time grows with the square of the nesting: 100,000 open elements would take it half a minute.
TEST(FormsChild, EndsAParserThatTakesTooLong) {
  std::string page = kPage;
  for (int i = 0; i < 100000; ++i) page += "<div>";
  const auto work = [&page] { return std::to_string(plan_page(page, Rules{kTo, default_scripts(), {}}).edits.size()); };
  const auto text = in_a_child(Limits{.cpu = std::chrono::seconds(1)}, work);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "took more than 1 s of CPU");
}

}  // namespace
}  // namespace balance::forms
