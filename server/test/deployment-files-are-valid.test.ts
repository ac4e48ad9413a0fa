import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Deployment, StatefulSet } from "kubernetes-models/apps/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { parse, parseAllDocuments } from "yaml";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const kubernetes = join(root, "deploy/kubernetes");
const kinds = { Deployment, StatefulSet, PodDisruptionBudget, Service };
const modules = {
  Deployment: "apps/v1",
  StatefulSet: "apps/v1",
  PodDisruptionBudget: "policy/v1",
  Service: "v1",
};
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;
/** The longest time that the service takes to stop before it stops its database, seconds. */
const stopLimitSeconds = 25;

interface Manifest {
  apiVersion: string;
  kind: keyof typeof kinds;
  // oxlint-disable-next-line typescript/no-explicit-any -- the test checks its schema
  [field: string]: any;
}

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "postrider-deployment-"));
  await symlink(join(root, "node_modules"), join(scratch, "node_modules"));
});
afterAll(() => rm(scratch, { recursive: true }));

describe("the manifests for Kubernetes", async () => {
  const manifests = await Promise.all(["shared", "postgres", "embedded"].map(readFolder));

  it("match the schemas of their kinds", () => {
    const present = manifests.flatMap(({ resources }) => resources);
    expect(present.map(({ kind }) => kind).sort()).toEqual(Object.keys(kinds).sort());
    for (const manifest of present) {
      expect(() => new kinds[manifest.kind](manifest as never).validate()).not.toThrow();
    }
    const wrong = { metadata: { name: "x" }, spec: { ports: [{ port: "80" }] } } as never;
    expect(() => new Service(wrong).validate()).toThrow(/integer/);
  });

  it("have no field that their kinds do not have", async () => {
    const present = manifests.flatMap(({ resources }) => resources);
    expect(await typeErrors(present)).toBe("");
    const mistaken = { ...present.find(({ kind }) => kind === "Service")!, spec: { prots: [] } };
    expect(await typeErrors([mistaken])).toMatch(/prots/);
  }, 60_000);

  it("are all listed by a kustomization, which lists no others", () => {
    for (const { files, kustomization } of manifests) {
      const local = (kustomization.resources as string[]).filter((name) => !name.startsWith(".."));
      expect(local.sort()).toEqual(files.filter((name) => name !== "kustomization.yaml").sort());
    }
  });

  it.runIf(hasKubectl)("are built by kustomize", async () => {
    for (const name of ["postgres", "embedded"]) {
      const { stdout } = await run("kubectl", ["kustomize", join(kubernetes, name)]);
      const built = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
      expect(built.map(({ kind }) => kind)).toContain("Service");
      const workload = built.find(({ spec }) => spec.template !== undefined)!;
      const service = built.find(({ kind }) => kind === "Service")!;
      expect(workload.spec.template.metadata.labels).toMatchObject(service.spec.selector);
    }
  });

  it("give the service enough time to stop", () => {
    for (const { template } of manifests.flatMap(({ resources }) => resources.map(({ spec }) => spec))) {
      if (template === undefined) continue;
      const [container] = template.spec.containers;
      const { seconds } = container.lifecycle.preStop.sleep;
      expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds + stopLimitSeconds);
      expect(container.readinessProbe.httpGet.path).toBe("/readyz");
      expect(container.livenessProbe.httpGet.path).toBe("/healthz");
    }
  });

  it("keep variables of Kubernetes services out of the environment, because the start refuses unknown names", () => {
    const templates = manifests.flatMap(({ resources }) =>
      resources.flatMap(({ spec }) => (spec.template === undefined ? [] : [spec.template])),
    );
    expect(templates.map(({ spec }) => spec.enableServiceLinks)).toEqual([false, false]);
  });
});

describe("the files for compose", () => {
  it("give the service enough time to stop, and run it without privileges", async () => {
    const { services } = parse(await readFile(join(root, "compose.yaml"), "utf8"));
    expect(Number.parseInt(services.postrider.stop_grace_period)).toBeGreaterThan(stopLimitSeconds);
    expect(services.postrider).toMatchObject({ read_only: true, cap_drop: ["ALL"], volumes: ["data:/data"] });
    const beside = parse(await readFile(join(root, "compose.postgres.yaml"), "utf8"));
    expect(Object.keys(beside.services)).toEqual(["postrider", "postgres"]);
    expect(Object.keys(beside.services.postrider.depends_on)).toEqual(["postgres"]);
  });
});

describe.runIf(hasSystemd)("the unit for systemd", () => {
  it("is valid for systemd, and has a low exposure score", async () => {
    const unit = join(scratch, "postrider.service");
    const text = await readFile(join(root, "deploy/systemd/postrider.service"), "utf8");
    await writeFile(unit, text.replaceAll("/opt/postrider/", `${root}/`));
    const verified = await run("systemd-analyze", ["verify", "--man=no", unit]);
    expect(verified.stderr.split("\n").filter((line) => line.includes("postrider.service"))).toEqual([]);
    // The command fails above 1.5 of 10.
    await run("systemd-analyze", ["security", "--offline=true", "--threshold=15", unit]);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(stopLimitSeconds);
    // With the database's socket in the private /tmp, operator commands could not reach it.
    expect(/TMPDIR=\/run\/(\S+)/.exec(text)?.[1]).toBe(/^RuntimeDirectory=(\S+)$/m.exec(text)?.[1]);
    expect(text).toMatch(/^RuntimeDirectory=/m);
  });
});

async function readFolder(
  name: string,
  // oxlint-disable-next-line typescript/no-explicit-any -- a kustomization has no schema here
): Promise<{ files: string[]; kustomization: any; resources: Manifest[] }> {
  const folder = join(kubernetes, name);
  const files = await readdir(folder);
  const documents = await Promise.all(
    files.map(async (file) => {
      const [document, ...others] = parseAllDocuments(await readFile(join(folder, file), "utf8"));
      if (others.length > 0 || document === undefined || "empty" in document || document.errors.length > 0) {
        throw new Error(`${name}/${file} is not one document of YAML`);
      }
      return document.toJS() as Manifest;
    }),
  );
  const isKustomization = (one: { kind: string }): boolean => one.kind === "Kustomization";
  return {
    files,
    kustomization: documents.find(isKustomization),
    resources: documents.filter((one) => !isKustomization(one)),
  };
}

/**
 * Type errors of the manifests, checked as literals of their kinds' types; the JSON schemas accept unknown fields.
 */
async function typeErrors(manifests: Manifest[]): Promise<string> {
  const lines = manifests.flatMap((manifest, at) => [
    `import type { I${manifest.kind} as Kind${at} } from "kubernetes-models/${modules[manifest.kind]}";`,
    `export const manifest${at}: Kind${at} = ${JSON.stringify(manifest)};`,
  ]);
  await writeFile(join(scratch, "manifests.ts"), lines.join("\n"));
  const compilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: [],
    module: "nodenext",
  };
  await writeFile(join(scratch, "package.json"), `{ "type": "module" }`);
  await writeFile(
    join(scratch, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["manifests.ts"] }),
  );
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [compiler, "-p", scratch]).catch(
    (error: { stdout: string }) => error,
  );
  return stdout;
}
