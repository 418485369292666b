// See `run` beside this file.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { HtmlValidate } from "html-validate";
import { chromium } from "playwright-core";

const { PITON_BIN, EXAMPLES, WORK, PICTURES, SAMPLE, CHROMIUM } = process.env;
// The example of `--sample`, which also opens hostile texts and the list of runs.
const SOME = ["nine-step"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const NOW = "2026-01-31T12:00:00Z";
const WIDTHS = [390, 768, 1280];
const SCHEMES = ["light", "dark"];
// Every way out of a text that a page could have.
const HOSTILE =
  "</title></style></script><script>document.title='taken'</script>\"'><img src=x onerror=\"document.title='taken'\">" +
  "<a href=javascript:alert(1)>j</a> javascript:alert(1) &lt; \u202eback\u2066 \u001b[31m ]]> <!-- --> http://example.test/x";

// What the sandbox of the tests has, and nothing of this machine.
function piton(project, words, now = NOW) {
  const home = join(WORK, "home");
  mkdirSync(home, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: join(home, "state"), PITON_NOW: now, PITON_SESSION: "5f3a9c12", TZ: "UTC" };
  const done = spawnSync(PITON_BIN, words, { cwd: project, env, encoding: "utf8" });
  assert.equal(done.status, 0, `piton ${words.join(" ")}: ${done.stdout}${done.stderr}`);
  return done.stdout;
}

function folder(name) {
  const project = join(WORK, name);
  mkdirSync(project, { recursive: true });
  return project;
}

function ccw(name, title, tasks) {
  const project = folder(name);
  const session = join(project, ".workflow/active/WFS-big");
  mkdirSync(join(session, ".task"), { recursive: true });
  const head = { session_id: "WFS-big", project: title, status: "active", created_at: "2026-01-30T08:00:00Z" };
  writeFileSync(join(session, "workflow-session.json"), JSON.stringify(head));
  for (const task of tasks) writeFileSync(join(session, `.task/${task.id}.json`), JSON.stringify(task));
  return project;
}

function thousand() {
  const tasks = Array.from({ length: 1000 }, (_, at) => ({
    id: `IMPL-${at + 1}`,
    title: `Task number ${at + 1} with a title of usual length`,
    status: at < 599 ? "completed" : at === 599 ? "in_progress" : "pending",
    meta: { type: "feature", agent: at % 3 ? "@code-developer" : "@test-fix-agent" },
    context: { depends_on: at > 0 && at % 7 ? [`IMPL-${at}`] : [] },
  }));
  return ccw("thousand", "A thousand steps", tasks);
}

function hostile() {
  const project = ccw("hostile", HOSTILE, [
    { id: "IMPL-1", title: HOSTILE, status: "completed", meta: { type: HOSTILE, agent: HOSTILE }, context: { requirements: [HOSTILE], focus_paths: [HOSTILE], acceptance: [HOSTILE], depends_on: [] } },
    { id: "IMPL-2", title: HOSTILE, status: "in_progress", meta: { type: "feature", agent: HOSTILE }, context: { depends_on: ["IMPL-1"], requirements: [HOSTILE] }, error: HOSTILE },
  ]);
  return project;
}

function twelve() {
  const project = folder("twelve");
  const workers = ["researcher", "db-migrator", "api-developer", "ui-developer", "auth-developer", "cache-developer", "docs-writer", "test-writer", "perf-tester", "security-auditor"];
  const steps = [
    "  - {id: plan, title: Plan the billing service, agent: planner, outputs: [out/plan.md]}",
    ...workers.map((name) => `  - {id: ${name}, title: Work of the ${name}, agent: ${name}, depends_on: [plan]}`),
    `  - {id: review, title: Review all of it, agent: reviewer, returns_to: api-developer, depends_on: [${workers.join(", ")}]}`,
    "  - {id: ship, title: Ship it, gate: true, depends_on: [review]}",
  ];
  writeFileSync(join(project, "twelve.yaml"), `name: twelve\ndescription: Twelve agents build the billing service\nsteps:\n${steps.join("\n")}\n`);
  const at = (minute) => `2026-01-31T${String(8 + Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}:00Z`;
  piton(project, ["start", "twelve.yaml", "--feature", "billing"], at(0));
  piton(project, ["begin", "plan", "--agent", "planner"], at(2));
  mkdirSync(join(project, "out"));
  writeFileSync(join(project, "out/plan.md"), "the plan\n");
  piton(project, ["finish", "plan", "--summary", "Ten parts, no shared tables"], at(14));
  workers.forEach((name, place) => piton(project, ["begin", name, "--agent", name], at(15 + place)));
  workers.slice(0, 7).forEach((name, place) => piton(project, ["finish", name, "--summary", `${name} is done`], at(30 + place * 9)));
  piton(project, ["finish", "test-writer", "--status", "failed", "--error", HOSTILE], at(95));
  return project;
}

function pages() {
  const projects = [];
  for (const name of readdirSync(EXAMPLES)) {
    if (!statSync(join(EXAMPLES, name)).isDirectory() || (SAMPLE && !SOME.includes(name))) continue;
    const project = join(WORK, name);
    cpSync(join(EXAMPLES, name), project, { recursive: true });
    const runs = JSON.parse(piton(project, ["list", "--all", "--format", "json"]));
    if (runs.ok) projects.push([name, project, runs.data.runs[0].path]);
  }
  projects.push(["hostile", hostile()]);
  if (!SAMPLE) projects.push(["thousand", thousand()], ["twelve", twelve()]);
  const files = projects.map(([name, project, run]) => {
    const file = join(WORK, `${name}.html`);
    piton(project, ["show", ...(run ? [run] : []), "--html", file]);
    return [name, file];
  });
  const index = join(WORK, "index.html");
  writeFileSync(index, piton(join(WORK, "hostile"), ["list", "--html"]));
  return [...files, ["index", index]];
}

async function valid(name, file) {
  // Void elements, letters of the doctype and the length of titles are taste; the style and the script are allowed by their digests.
  const rules = { "doctype-style": "off", "long-title": "off", "require-sri": "off", "require-csp-nonce": "off", "no-trailing-whitespace": "off", "no-raw-characters": "off", "attribute-boolean-style": "off", "attr-quotes": "off" };
  const report = await new HtmlValidate({ extends: ["html-validate:standard"], rules }).validateFile(file);
  const found = report.results.flatMap((result) => result.messages.map((it) => `${it.line}:${it.column} ${it.ruleId}: ${it.message}`));
  assert.deepEqual(found.slice(0, 8), [], name);
}

async function opened(browser, file, options, look) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => trouble.push(message.text()));
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("dialog", (dialog) => { trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) trouble.push(request.url()); });
  await page.goto(`file://${file}`);
  await look(page);
  assert.deepEqual(trouble, [], file);
  await context.close();
}

async function looksRight(browser, name, file) {
  for (const colorScheme of SCHEMES) {
    await opened(browser, file, { colorScheme }, async (page) => {
      assert.notEqual(await page.title(), "taken", name);
      assert.equal(await page.locator("img, iframe, object, embed, [onerror], a:not([href^='#'])").count(), 0, name);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${name} is ${wide} wide at ${width}`);
        if (PICTURES) {
          const height = await page.evaluate(() => document.documentElement.scrollHeight);
          await page.setViewportSize({ width, height: Math.min(height, 4000) });
          await page.screenshot({ path: join(PICTURES, `${name}-${width}-${colorScheme}.png`) });
        }
      }
      // The steps of a thousand look alike.
      await page.evaluate(() => document.querySelectorAll(".steps > li:nth-child(n+60)").forEach((it) => it.remove()));
      const width = colorScheme === "dark" ? WIDTHS[0] : WIDTHS[2];
      await page.setViewportSize({ width, height: 900 });
      await accessible(page, `${name} ${width} ${colorScheme}`);
    });
  }
}

async function accessible(page, what) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] }));
  const told = found.violations.map((it) => `${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  violations.push(...told.map((it) => `${what}: ${it}`));
}

// The order of the keyboard is that of the page, everything that can be clicked is in it, and it can be left.
async function keyboard(browser, file) {
  await opened(browser, file, {}, async (page) => {
    const places = [];
    for (let press = 0; press < 400; press += 1) {
      await page.keyboard.press("Tab");
      const place = await page.evaluate(() => {
        const active = document.activeElement;
        if (!active || active === document.body) return null;
        const all = [...document.querySelectorAll("*")];
        const box = active.getBoundingClientRect();
        const name = active.getAttribute("aria-label") || active.textContent.trim() || active.getAttribute("name");
        return { at: all.indexOf(active), is: `${active.tagName} ${name}`.slice(0, 60), seen: box.width > 0 && box.height > 0 };
      });
      if (!place) break;
      places.push(place);
    }
    assert.ok(places.length > 5 && places.length < 400, `${places.length} stops`);
    assert.match(places[0].is, /Skip to the steps/);
    places.forEach((place, at) => {
      assert.ok(place.seen, `${place.is} is not visible`);
      const before = places[at - 1];
      assert.ok(!before || place.at > before.at, `${before?.is}, then ${place.is}`);
    });
    const clickable = await page.locator("a[href]:visible, button:visible, summary:visible, input:visible").count();
    assert.ok(places.length >= clickable, `${places.length} stops for ${clickable} things`);
  });
}

async function worksWithScripts(browser, file) {
  await opened(browser, file, { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    const command = await page.locator(".verdict .cmd code").textContent();
    await page.locator(".verdict button.copy").click();
    await page.getByText("Copied").first().waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
    const all = await page.locator(".steps > li:visible").count();
    await page.locator("input[name=q]").fill("commit");
    const some = await page.locator(".steps > li:visible").count();
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    await page.locator("input[name=q]").fill("");
    await page.locator(".graph a").last().click();
    await page.locator(".steps > li:target details[open]").waitFor();
  });
}

async function worksWithoutScripts(browser, file) {
  await opened(browser, file, { javaScriptEnabled: false }, async (page) => {
    for (const head of ["What comes next", "What a person decides", "Graph", "Timeline", "Steps"]) {
      assert.ok(await page.getByRole("heading", { name: head, exact: true }).isVisible(), head);
    }
    assert.equal(await page.locator("button:visible, form:visible").count(), 0);
    await page.locator(".steps summary").first().click();
    assert.ok(await page.locator(".steps details[open] .wit").first().isVisible());
  });
}

const violations = [];
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: CHROMIUM, args: flags });
try {
  const left = pages();
  const worker = async () => {
    for (let page = left.shift(); page; page = left.shift()) {
      const [name, file] = page;
      const size = statSync(file).size;
      assert.ok(size <= 300_000, `${name}: ${size} bytes`);
      await valid(name, file);
      await looksRight(browser, name, file);
      console.log(`${name}: ${size} bytes`);
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  assert.deepEqual(violations, []);
  const one = join(WORK, "nine-step.html");
  await keyboard(browser, one);
  await worksWithScripts(browser, one);
  await worksWithoutScripts(browser, one);
  console.log("keyboard, scripts, no scripts: ok");
} finally {
  await browser.close();
}
