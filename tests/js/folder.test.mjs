// A folder as a ZIP archive, which another program reads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { archive } from "../../app/components/js/folder.js";

const READ = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    print(json.dumps({name: archive.read(name).decode() for name in archive.namelist()}))`;

test("Python's zipfile finds every file under its name, its content unharmed", () => {
  const files = { "results/org__model/r1/STS17.json": '{"scores": 0.8}', "größe/空.yaml": "- ü", "empty.json": "" };
  const bytes = Object.entries(files).map(([name, text]) => ({ name, bytes: new TextEncoder().encode(text) }));
  for (const some of [bytes, []]) {
    const file = join(mkdtempSync(join(tmpdir(), "folder-")), "made.zip");
    writeFileSync(file, Buffer.concat(archive(some)));
    const read = JSON.parse(execFileSync("python3", ["-c", READ, file], { encoding: "utf8" }));
    assert.deepEqual(read, some.length ? files : {});
  }
});
