require('./driver.js')(async (page, assert) => {
  // One cause is one tab; what follows is folded.
  assert.equal(await page.locator('nav button').count(), 1);
  assert.match(await page.textContent('nav button'), /\(\+5\)$/);
  const headline = await page.textContent('h2 .id');
  assert.match(await page.textContent('#cause'), /not every use of account holds lock|not every use of `account` holds lock/);
  assert.match(await page.textContent('#followers summary'), /^5 more places follow from it$/);
  assert.equal(await page.locator('#followers li').first().isVisible(), false);
  await page.locator('#followers summary').click();
  assert.equal(await page.locator('#followers li').count(), 5);

  // Each follower has a page of its own, with its schedule, and leads back.
  await page.locator('#followers li button').first().click();
  assert.notEqual(await page.textContent('h2 .id'), headline);
  assert.equal(await page.locator('#lanes').count(), 1);
  assert.equal(await page.locator('nav button[aria-selected="true"]').count(), 1);
  await page.locator('#above button').click();
  assert.equal(await page.textContent('h2 .id'), headline);

  // The key visits all of them and comes round.
  const seen = new Set();
  for (let press = 0; press < 6; press++) {
    seen.add(await page.textContent('h2 .id'));
    await page.keyboard.press('n');
  }
  assert.equal(seen.size, 6);
  assert.equal(await page.textContent('h2 .id'), headline);
});
