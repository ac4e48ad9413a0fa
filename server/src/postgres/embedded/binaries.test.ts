import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { locateBinaries, platformPackage } from "./binaries.ts";

const installed = platformPackage();
const nobody = { uid: 65_534, gid: 65_534 };
const folder = mkdtempSync(join(tmpdir(), "postrider-binaries-"));
chmodSync(folder, 0o755);

/** An installation by root in its home directory, with a strict umask and `--ignore-scripts`. */
function installClosed(): string {
  const root = join(folder, "closed");
  mkdirSync(root, { mode: 0o700 });
  cpSync(installed, root, { recursive: true, filter: (path) => !/\.so(\.6|\.3|\.60|\.5)?$/.test(path) });
  spawnSync("cp", ["-r", join(installed, "native", "lib"), join(root, "native")]);
  spawnSync("find", [join(root, "native", "lib"), "-type", "l", "-delete"]);
  chmodSync(root, 0o700);
  return root;
}

function versionAs(account: typeof nobody, program: string): string {
  return spawnSync(program, ["--version"], { ...account, cwd: "/", encoding: "utf8" }).stdout;
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.runIf(process.platform === "linux" && process.getuid?.() === 0)(
  "binaries for another account",
  () => {
    const places = [join(folder, "unusable", "\0"), join(folder, "place")];

    it("are copied once to a place that the account can reach, with the links that npm left out", async () => {
      const closed = installClosed();
      const first = await locateBinaries(nobody, closed, places);
      expect(first.postgres.startsWith(join(folder, "place"))).toBe(true);
      expect(versionAs(nobody, first.postgres)).toMatch(/^postgres \(PostgreSQL\) 18/);
      expect(versionAs(nobody, first.initdb)).toMatch(/^initdb \(PostgreSQL\) 18/);
      const made = statSync(dirname(dirname(first.postgres))).ino;
      await locateBinaries(nobody, closed, places);
      expect(statSync(dirname(dirname(first.postgres))).ino).toBe(made);
    });

    it("are copied again when a file of the copy is cut short", async () => {
      const closed = join(folder, "closed");
      const { postgres } = await locateBinaries(nobody, closed, places);
      truncateSync(join(dirname(postgres), "..", "lib", "libpq.so.5.18"), 10);
      await locateBinaries(nobody, closed, places);
      expect(versionAs(nobody, join(dirname(postgres), "initdb"))).toMatch(/18/);
    });

    it("are refused with the reasons when no place can hold them", async () => {
      await expect(locateBinaries(nobody, join(folder, "closed"), ["/proc/postrider"])).rejects.toThrow(
        /no other place can hold them \(\/proc\/postrider: ENOENT/,
      );
    });
  },
);

describe("binaries for the current user", () => {
  it("are those of the installed package", async () => {
    const { postgres, majorVersion } = await locateBinaries(undefined);
    expect(postgres).toBe(join(installed, "native", "bin", "postgres"));
    expect(majorVersion).toBe("18");
  });
});
