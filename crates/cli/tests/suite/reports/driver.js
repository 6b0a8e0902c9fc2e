// What the scripts have in common: a browser, and a page that may not complain.
const { chromium } = require(process.env.PLAYWRIGHT);
const assert = require('node:assert/strict');
// Milliseconds that nothing here takes, even on a busy machine.
const PATIENCE = 120000;

module.exports = async function drive(test, options = {}) {
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags, timeout: PATIENCE });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
    page.setDefaultTimeout(PATIENCE);
    const complaints = [], requests = [];
    page.on('pageerror', error => complaints.push(error.message));
    page.on('console', message => { if (message.type() === 'error') complaints.push(message.text()); });
    page.on('request', request => requests.push(request.url()));
    await page.goto(process.argv[2]);
    await test(page, assert, requests);
    assert.deepEqual(complaints, []);
    console.log('all fine');
  } finally {
    await browser.close();
  }
};
