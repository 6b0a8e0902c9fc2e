require('./driver.js')(async (page, assert, requests) => {
  assert.match(await page.textContent('h2'), /deadlock/);
  assert.doesNotMatch(await page.textContent('#head'), /null|undefined/);
  assert.doesNotMatch(await page.textContent('#main'), /null|undefined/);
});
