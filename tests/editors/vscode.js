// Drives VS Code (code-server, at the address given first) in a browser without a window: opens the
// folder and the file given then, sees the finding, types it away, sees it go, and undoes that.
'use strict';

const fs = require('fs');
const { chromium } = require('playwright-core');

const [address, folder, file] = process.argv.slice(2);
const PATIENCE = 90_000;

const told = () => {
  const log = process.env.STRAGGLER_LOG;
  return fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\n').filter(Boolean) : [];
};

async function wait(what, isThere) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
    if (await isThere()) {
      console.log(`VS Code: ${what}`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`VS Code: not seen: ${what}\n${told().join('\n')}`);
}

async function main() {
  const executablePath = process.env.STRAGGLER_CHROMIUM;
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  try {
    const open = encodeURIComponent(JSON.stringify([['openFile', `vscode-remote://${address}${file}`]]));
    await page.goto(`http://${address}/?folder=${encodeURIComponent(folder)}&payload=${open}`);
    const squiggles = () => page.locator('.monaco-editor .squiggly-error').count();
    const states = (name) => told().filter((line) => line.startsWith(`${name}: `));
    const last = () => states('p.go').at(-1);
    const finding = 'p.go: 6:13 send-without-receiver';
    await wait('the finding is at its place', () => last() === finding);
    await wait('it is underlined', async () => (await squiggles()) > 0);
    await wait('fixes are offered', () => told().some((line) =>
      line.startsWith('actions: ') && line.includes('Give `ch` room for 1') &&
      line.includes('Ignore `send-without-receiver` here') && line.includes('Show how it comes about')));
    await wait('the goroutine is told of', () => told().includes('hover: **How this goroutine ends**'));
    await wait('its story is shown', () => told().includes('shown: # send-without-receiver'));
    await wait('a file that is not open is told of', () =>
      states('q.go').at(-1) === 'q.go: 6:13 send-without-receiver');
    // Back from the story to the code.
    const active = (name) => async () => (await page.locator('.tab.active', { hasText: name }).count()) > 0;
    await wait('the story has a tab', active('send-without-receiver'));
    await page.locator('.tab', { hasText: 'p.go' }).first().click();
    await wait('the code is in front again', active('p.go'));
    await page.locator('.monaco-editor .view-line', { hasText: 'make(chan int)' }).first().click();
    await page.keyboard.press('Control+g');
    await page.keyboard.type('6:21');
    await page.keyboard.press('Enter');
    await page.keyboard.type(', 1');
    await wait('it goes when it is edited away', () => last() === 'p.go: ');
    await wait('nothing is underlined', async () => (await squiggles()) === 0);
    for (let undone = 0; undone < 5 && last() !== finding; undone += 1) {
      await page.keyboard.press('Control+z');
      await page.waitForTimeout(500);
    }
    await wait('it comes back when that is undone', () => last() === finding);
  } catch (error) {
    const picture = process.env.STRAGGLER_PICTURE;
    if (picture) {
      await page.screenshot({ path: picture });
    }
    throw error;
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
