require('./driver.js')(async (page, assert, requests) => {
  assert.equal(await page.textContent('#verdict'), 'bug');
  assert.match(await page.textContent('h2'), /error\[r1\].*account\.balance/);
  assert.equal(await page.locator('.access').count(), 2);
  assert.match(await page.textContent('.source .hit .note'), /read of 4 bytes by T2; no lock held|write of 4 bytes by T1/);
  assert.equal(await page.locator('.source .hit .word').count(), 2);
  assert.match(await page.textContent('.command code'), /^raddle replay r1$/);

  // The slider and the keys move through the schedule; the state follows.
  assert.match(await page.textContent('#count'), /^8 \/ 8/);
  await page.keyboard.press('Home');
  assert.match(await page.textContent('#count'), /^1 \/ 8/);
  for (let step = 0; step < 4; step++) await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('#count'), /^5 \/ 8 .*--break-at 5/);
  assert.match(await page.textContent('#threads tr.now'), /T1.*lock account\.lock.*account\.lock/);
  assert.match(await page.textContent('.source tr.here'), /pthread_mutex_lock/);
  await page.keyboard.press('1');
  assert.match(await page.textContent('.ev.now'), /write account\.balance/);
  await page.keyboard.press('2');
  assert.match(await page.textContent('.ev.now'), /read account\.balance/);
  await page.keyboard.press('S');
  await page.keyboard.press('s');
  assert.match(await page.textContent('#count'), /^8 \/ 8/);
  await page.locator('#slider').fill('4');
  assert.match(await page.textContent('.ev.now'), /lock account\.lock/);
  await page.locator('.ev', { hasText: 'create T2' }).click();
  assert.match(await page.textContent('#count'), /^3 \/ 8/);
  assert.ok(await page.locator('.bar').count() >= 1, 'a lock that is held has a bar');
  assert.ok(await page.locator('.switch').count() >= 2, 'switches are marked');

  // Everything can be reached without a mouse.
  const reached = new Set();
  for (let press = 0; press < 40; press++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName));
  }
  for (const wanted of ['theme', 'slider', 'lanes', 'source']) assert.ok(reached.has(wanted), `${wanted} in ${[...reached]}`);

  // Dark and light differ, and the choice is the reader's.
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.keyboard.press('t');
  assert.notEqual(await back(), light);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.keyboard.press('t');
  assert.equal(await back(), light);

  // No network: the page is all there is.
  assert.deepEqual(requests.filter(url => !url.startsWith('file:')), []);
}, { colorScheme: 'light' });
