// check:
// verdict: verified
// executions: 1

// A status other than 0 is the program's own business unless asked for.
int main(void)
{
    return 7;
}
