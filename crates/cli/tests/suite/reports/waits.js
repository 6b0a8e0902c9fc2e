require('./driver.js')(async (page, assert) => {
  const texts = selector => page.locator(selector).allTextContents();
  assert.equal(await page.locator('#waits svg').isVisible(), true);
  assert.equal(await page.locator('#waits line.waits').count(), 3);
  assert.equal(await page.locator('#waits line.held').count(), 3);
  assert.deepEqual((await texts('#waits g.thread text')).map(text => text.replace(/ .*/, '')), ['(1)', '(2)', '(3)']);
  assert.equal((await texts('#waits g.object text')).length, 3);

  // Each thread waits for one lock and holds another: following the arrows leads round.
  const label = await page.getAttribute('#waits svg', 'aria-label');
  const waits = new Map([...label.matchAll(/(T\d) waits for ([^;]+)/g)].map(found => [found[1], found[2]]));
  const holders = new Map([...label.matchAll(/(T\d) holds ([^;]+)/g)].map(found => [found[2], found[1]]));
  const [first] = waits.keys();
  let thread = first;
  for (let step = 0; step < 3; step++) thread = holders.get(waits.get(thread));
  assert.equal(thread, first);
});
