// check:
// verdict: bug
// executions: 1
// finding: assertion detail=exit-status
// check: --allow-exit 3,7
// verdict: verified
// executions: 1
// check: --allow-exit 3
// verdict: bug
// finding: assertion detail=exit-status

// A status other than 0 says that the program failed, unless the user allows it.
int main(void)
{
    return 7;
}
